package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/agora-arena/arena/internal/certs"
)

// listen opens the listeners, and the certificates of the public one.
func (s *Server) listen(ctx context.Context) (err error) {
	listen := s.opts.World.Listen
	if listen == nil {
		listen = new(net.ListenConfig).Listen
	}
	if s.listener, err = listen(ctx, "tcp", s.cfg.Addr); err != nil {
		return fmt.Errorf("ARENA_ADDR: %w", err)
	}
	s.cfg.Listening(s.listener.Addr())
	s.url = s.cfg.PublicURL.String()
	if s.cfg.TLSOn() && s.cfg.HTTPAddr != "" {
		if s.plainListener, err = listen(ctx, "tcp", s.cfg.HTTPAddr); err != nil {
			return fmt.Errorf("ARENA_HTTP_ADDR: %w", err)
		}
	}
	if s.cfg.MetricsAddr != "" {
		if s.privateListener, err = listen(ctx, "tcp", s.cfg.MetricsAddr); err != nil {
			return fmt.Errorf("ARENA_METRICS_ADDR: %w", err)
		}
	}
	return s.openCertificates()
}

func (s *Server) openCertificates() (err error) {
	o := certs.Options{Host: s.cfg.PublicURL.Hostname(), Now: s.now, Logger: s.log}
	switch s.cfg.TLS {
	case TLSAuto:
		o.ACME = &certs.ACME{
			Store: s.store.Certificates, Directory: s.cfg.ACMEURL.String(), Email: s.cfg.ACMEEmail, CAFile: s.cfg.ACMECAFile,
			HTTP: s.plainListener != nil,
		}
	case TLSFiles:
		o.Files = &s.cfg.TLSFiles
	default:
		return nil
	}
	s.certs, err = certs.Open(o)
	return err
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// tlsServer returns a server for TLS with HTTP/1.1 and HTTP/2. A handshake must end
// within ReadHeaderTimeout.
func (s *Server) tlsServer(h http.Handler) *http.Server {
	server := s.httpServer(h)
	server.TLSConfig = s.certs.Config()
	return server
}

// redirect sends readers from plain HTTP to the same path and query of the public
// URL, whatever host they name. Other requests are refused: they carry tokens, and
// a client that is redirected would send them in clear text every time.
func redirect(public url.URL) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Authorization") != "" {
			http.Error(w, "use "+public.String()+": plain HTTP would show your token to everyone on the way", http.StatusForbidden)
			return
		}
		to := public // String puts a slash between host and path
		to.Path, to.RawPath, to.RawQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
		http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
	})
}
