package embedded

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A control plane that dies takes the connections along; the requests reach the one after it, when that is ready, with their bodies.
func TestRequestsOutliveTheControlPlane(t *testing.T) {
	for name, protocols := range map[string][]string{"HTTP/2": {"h2"}, "HTTP/1.1": {"http/1.1"}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, nil)
			pair, err := tls.LoadX509KeyPair(filepath.Join(c.pki.dir, "apiserver.crt"), filepath.Join(c.pki.dir, "apiserver.key"))
			if err != nil {
				t.Fatal(err)
			}
			// serve answers on the cluster's socket, as the child does, and returns what ends it.
			serve := func(h http.HandlerFunc) *http.Server {
				l, err := net.FileListener(c.files[0])
				if err != nil {
					t.Fatal(err)
				}
				s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols}}
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = s.ServeTLS(l, "", "") // until it is closed
				}()
				t.Cleanup(func() { s.Close(); <-done })
				return s
			}
			died := make(chan struct{})
			var first *http.Server
			first = serve(func(_ http.ResponseWriter, r *http.Request) {
				first.Close()
				close(died)
				<-r.Context().Done()
			})
			var probes, created atomic.Int32
			go func() {
				<-died
				serve(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					switch {
					case r.URL.Path == "/readyz":
						if probes.Add(1) == 1 {
							http.Error(w, "[-]etcd failed", http.StatusInternalServerError)
						}
					case r.Method == http.MethodPost:
						created.Add(1)
						body, _ := io.ReadAll(r.Body)
						if probes.Load() < 2 || len(body) == 0 {
							t.Errorf("after %d probes, body %q", probes.Load(), body)
						}
						_, _ = w.Write(body)
					default:
						fmt.Fprint(w, `{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"default"}}`)
					}
				})
			}()
			config := *c.rest
			config.ContentType = "application/json"
			client, err := kubernetes.NewForConfig(&config)
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
			if err != nil || got.Name != "x" || created.Load() != 1 {
				t.Errorf("%v, %d creations: %v", got, created.Load(), err)
			}
		})
	}
}

// An answer that breaks off is not one.
func TestAnswersThatBreakOff(t *testing.T) {
	for query, want := range map[string]int{"": 2, "?watch=true": 1, "?follow=true": 1} {
		sent := 0
		s := steady{
			next: roundTripper(func(r *http.Request) (*http.Response, error) {
				sent++
				body := io.Reader(strings.NewReader("all"))
				if sent == 1 {
					body = io.MultiReader(strings.NewReader("a"), iotest.ErrReader(io.ErrUnexpectedEOF))
				}
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
			}),
			ready: func(context.Context) error { return nil },
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1/api"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if sent != want || want == 2 && (err != nil || string(body) != "all") {
			t.Errorf("%q: sent %d times, want %d: %q, %v", query, sent, want, body, err)
		}
	}
}

// A request whose caller has gone is not sent again, and one without an answer ends with its caller.
func TestRequestsEndWithTheirCallers(t *testing.T) {
	c := newCluster(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	s := steady{
		next:  roundTripper(func(*http.Request) (*http.Response, error) { sent++; return nil, io.EOF }),
		ready: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() },
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.RoundTrip(r); err == nil {
			t.Error("no error")
		}
	}
	if sent != 2 {
		t.Errorf("sent %d times, want once for each", sent)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
