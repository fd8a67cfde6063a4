package sandbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// askAbout makes a call to the vCenter's API that needs no login.
func askAbout(t *testing.T, s *Sandbox) {
	t.Helper()
	u := *s.vcenters[0].URL()
	c := soap.NewClient(&u, true)
	c.UserAgent = "tester/1"
	defer c.CloseIdleConnections()
	if _, err := vim25.NewClient(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// A trace is a file from the first call on, and is streamed; without one, only calls from now on are.
func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	s := withVCenters(t, "single", func(o *Options) { o.Trace = path })
	c := serve(t, s)
	askAbout(t, s)
	first := func(follow bool) trace.Call {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body, err := c.Trace(ctx, follow)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		var got trace.Call
		_ = trace.Read(body, func(c trace.Call) error { // its error is the one below
			got = c
			return context.Canceled
		})
		return got
	}
	if got := first(true); got.Method != "RetrieveServiceContent" || got.Client != "tester/1" || got.VCenter != "vc" {
		t.Errorf("streamed %+v", got)
	}
	if got := first(false); got.Method != "RetrieveServiceContent" {
		t.Errorf("listed %+v", got)
	}
	last, err := c.LastExchange(t.Context(), "vc", "tester/1", "RetrieveServiceContent")
	if err != nil || last.Number == 0 || !strings.Contains(last.Text, "→ RetrieveServiceContent on ServiceInstance:ServiceInstance\n") || !strings.Contains(last.Text, "← 200") {
		t.Errorf("the newest is %+v, %v", last, err)
	}
	if any, err := c.LastExchange(t.Context(), "", "", ""); err != nil || any.Number < last.Number {
		t.Errorf("the newest of all is %+v, %v", any, err)
	}
	if _, err := c.LastExchange(t.Context(), "vc", "tester/1", "Login"); err == nil || !strings.Contains(err.Error(), "no such call") {
		t.Errorf("one that was not made: %v", err)
	}
	// To find a call, nothing before it is read.
	askAbout(t, s)
	for lines := 0; lines <= last.Number; { // the second is written
		newest, err := c.LastExchange(t.Context(), "vc", "tester/1", "")
		if err != nil {
			t.Fatal(err)
		}
		lines = newest.Number
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if before := bytes.LastIndexByte(text[:len(text)-1], '\n'); before < 0 {
		t.Fatalf("one line: %s", text)
	} else if err := os.WriteFile(path, append(bytes.Repeat([]byte("#"), before), text[before:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if newest, err := c.LastExchange(t.Context(), "", "", ""); err != nil || newest.Number < bytes.Count(text, []byte("\n")) {
		t.Errorf("after %d unreadable calls: %+v, %v", bytes.Count(text, []byte("\n"))-1, newest, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	s = withVCenters(t, "single")
	c = serve(t, s)
	if _, err := c.Trace(t.Context(), false); err == nil || !strings.Contains(err.Error(), "keeps no trace") {
		t.Errorf("a sandbox without a trace: %v", err)
	}
	if _, err := c.LastExchange(t.Context(), "", "", ""); err == nil || !strings.Contains(err.Error(), "keeps no trace") {
		t.Errorf("a call of a sandbox without a trace: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body, err := c.Trace(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	outside := http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	go func() {
		for ctx.Err() == nil { // until the stream listens
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.vcenters[0].URL().String()+"/vimServiceVersions.xml", nil)
			if err != nil {
				return
			}
			if res, err := outside.RoundTrip(req); err == nil {
				_ = res.Body.Close()
			}
		}
	}()
	var got trace.Call
	_ = trace.Read(body, func(c trace.Call) error { got = c; return context.Canceled })
	if got.URI != "/sdk/vimServiceVersions.xml" {
		t.Errorf("streamed %+v", got)
	}
}
