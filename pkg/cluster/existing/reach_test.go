package existing

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

func TestReach(t *testing.T) {
	says := func(status int, v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/version" || r.Header.Get("User-Agent") == "" {
				t.Errorf("asked for %s", r.URL)
			}
			answer(t, w, status, v)
		}
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		code    string
	}{
		"good":         {says(200, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.4"}), ""},
		"plus":         {says(200, version.Info{Major: "1", Minor: "31+", GitVersion: "v1.31.2-eks"}), ""},
		"old":          {says(200, version.Info{Major: "1", Minor: "27", GitVersion: "v1.27.1"}), CodeVersion},
		"no version":   {says(200, map[string]string{"hello": "world"}), CodeUnreachable},
		"no JSON":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, CodeUnreachable},
		"unauthorized": {says(401, metav1.Status{Status: "Failure", Code: 401, Reason: metav1.StatusReasonUnauthorized}), CodeCredentials},
		"forbidden":    {says(403, metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden}), CodeRights},
		"broken":       {says(500, metav1.Status{Status: "Failure", Code: 500}), CodeUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := served(t, tc.handler).Reach(t.Context())
			if code := codeOf(t, err); code != tc.code || code == "" && v.GitVersion == "" {
				t.Errorf("got %v, %v", v, err)
			}
		})
	}
}

// No listener; another certificate; Ctrl-C.
func TestReachFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unreachable := "https://" + l.Addr().String()
	l.Close()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = nil
	for url, want := range map[string]string{unreachable: CodeUnreachable, server.URL: CodeCertificate} {
		c := &Cluster{context: "lab", rest: &rest.Config{Host: url}}
		if err := c.connect(); err != nil {
			t.Fatal(err)
		}
		_, err := c.Reach(t.Context())
		if codeOf(t, err) != want || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", url, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Reach(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
}
