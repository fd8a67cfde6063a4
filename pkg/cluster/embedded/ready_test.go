package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnready(t *testing.T) {
	for verbose, want := range map[string]string{
		"":   "starting",
		"ok": "starting",
		"[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n": "etcd, poststarthook/rbac/bootstrap-roles",
		"[-]etcd failed: reason withheld": "etcd",
		"[-]":                             "",
	} {
		if got := unready(verbose); got != want {
			t.Errorf("%q: %q, want %q", verbose, got, want)
		}
	}
}

// fakeAPIServer answers on the cluster's own socket, with its own certificate, as h says.
func fakeAPIServer(t *testing.T, c *Cluster, h http.HandlerFunc) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.pki.dir, "apiserver.crt"), filepath.Join(c.pki.dir, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: h, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.pki.ca.Pool()},
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(c.listener, "", "") }()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

func TestWaitReady(t *testing.T) {
	c := newCluster(t, nil)
	type answer struct {
		status int
		body   string
	}
	const none = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	// What each attempt finds: the answer to /readyz, and to the question for the ServiceAccount.
	script := [][2]answer{
		{{500, "[-]etcd failed\n[-]log failed\n"}},
		{{500, "[-]etcd failed\n[-]log failed\n"}},
		{{500, "[-]log failed\n"}},
		{{401, `{"kind":"Status","code":401}`}},
		{{200, "ok"}, {404, none}},
		{{200, "ok"}, {404, none}},
		{{200, "ok"}, {403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`}},
		{{200, "ok"}, {200, `{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"default"}}`}},
	}
	var attempt atomic.Int32
	fakeAPIServer(t, c, func(w http.ResponseWriter, r *http.Request) {
		if cn := r.TLS.PeerCertificates[0].Subject.CommonName; cn != "vsphere-sandbox-admin" {
			t.Errorf("asked by %s", cn)
		}
		n, a := int(attempt.Load()), answer{}
		switch r.URL.Path {
		case "/readyz":
			attempt.Add(1)
			a = script[n][0]
		case "/api/v1/namespaces/default/serviceaccounts/default":
			a = script[n-1][1]
		default:
			t.Errorf("asked for %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	})
	var said []string
	if err := c.WaitReady(t.Context(), func(s string) { said = append(said, s) }); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"the API server: etcd, log", "the API server: log", "the API server: starting",
		"the controller manager to create the default ServiceAccount", "the API server to serve ServiceAccounts",
	}
	if diff := cmp.Diff(want, said); diff != "" { // each once, however long it takes
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if n := attempt.Load(); int(n) != len(script) {
		t.Errorf("%d attempts, want %d", n, len(script))
	}
}

func TestWaitReadyIsBounded(t *testing.T) {
	c := newCluster(t, nil)
	fakeAPIServer(t, c, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "[-]etcd failed", http.StatusInternalServerError)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reason := errors.New("told to end")
	// On a busy machine the first answer may come after the first look.
	err := c.WaitReady(ctx, func(waiting string) {
		if strings.Contains(waiting, "etcd") {
			cancel(reason)
		}
	})
	if !errors.Is(err, reason) || err.Error() != "control plane: waiting for the API server: etcd: told to end" {
		t.Errorf("got %v", err)
	}
}

func TestNoAnswer(t *testing.T) {
	c := newCluster(t, nil)
	if err := c.Close(); err != nil { // connections are refused
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := c.WaitReady(ctx, func(string) { cancel() }); err == nil || err.Error() != "control plane: waiting for the API server to respond: context canceled" {
		t.Errorf("got %v", err)
	}
}
