package sandbox

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

// serveFeed tells light nodes in other pods of the machines, over TLS, if they have the token. It returns how that is ended.
func (s *Sandbox) serveFeed(ctx context.Context, o *Pod) (closeFeed func(context.Context) error, err error) {
	token, err := os.ReadFile(filepath.Join(o.FeedDir, "token"))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	if token = bytes.TrimSpace(token); len(token) == 0 {
		return nil, errors.New("feed: the token is empty: anybody would have it")
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(o.FeedDir, "tls.crt"), filepath.Join(o.FeedDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	at := netip.AddrPortFrom(o.IP, uint16(o.FeedPort)).String()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+feed.Path, withToken(token, s.light))
	streams, end := context.WithCancel(context.WithoutCancel(ctx)) // they end with the sandbox, not with the boot
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return streams },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	s.background.Run(feedGroup, func(context.Context) {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Logger.Error("feed", "err", err)
		}
	})
	return func(ctx context.Context) error {
		end()
		return errors.Join(server.Close(), s.background.End(ctx, feedGroup))
	}, nil
}

// feedGroup is the background group of the feed's server.
const feedGroup = "feed"

// withToken lets those in who have it.
func withToken(token []byte, h http.Handler) http.Handler {
	want := append([]byte("Bearer "), token...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the token is missing or another", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}
