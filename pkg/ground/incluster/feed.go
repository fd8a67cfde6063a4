package incluster

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

// serveFeed serves the state of VMs to light nodes in other pods that have the token, over TLS. closeFeed ends it.
func (g *Ground) serveFeed(ctx context.Context) (closeFeed func(context.Context) error, err error) {
	token, err := os.ReadFile(filepath.Join(g.FeedDir, "token"))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	if token = bytes.TrimSpace(token); len(token) == 0 {
		return nil, errors.New("feed: the token is empty: anybody would have it")
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(g.FeedDir, "tls.crt"), filepath.Join(g.FeedDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	at := netip.AddrPortFrom(g.IP, uint16(g.FeedPort)).String()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+feed.Path, withToken(token, g.Host.Feed()))
	streams, end := context.WithCancel(context.WithoutCancel(ctx)) // they end with the sandbox, not with the boot
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return streams },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	g.Host.Go(feedGroup, func(context.Context) {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			g.Host.Failed("feed", err)
		}
	})
	return func(ctx context.Context) error {
		end()
		return errors.Join(server.Close(), g.Host.Wait(ctx, feedGroup))
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
