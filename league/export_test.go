package league

// RatingsAdmit is ratingsAdmit.
var RatingsAdmit = ratingsAdmit
