module github.com/agora-arena/agora-go

go 1.26.0

toolchain go1.26.8

require (
	github.com/MicahParks/jwkset v0.11.3
	github.com/coder/websocket v1.8.15
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/gowebpki/jcs v1.0.2
	go.uber.org/goleak v1.3.0
	golang.org/x/time v0.15.0
)
