module github.com/agora-arena/agora-go

go 1.26.0

require (
	github.com/MicahParks/jwkset v0.11.3
	github.com/MicahParks/keyfunc/v3 v3.9.0
	github.com/coder/websocket v1.8.15
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/google/go-cmp v0.7.0
	github.com/gowebpki/jcs v1.0.2
	github.com/mr-tron/base58 v1.3.0
	go.uber.org/goleak v1.3.0
	golang.org/x/time v0.15.0
)
