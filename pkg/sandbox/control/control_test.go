package control

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestErrorsHaveAStatus(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		body   string
	}{
		{nil, 200, `"fine"`},
		{&api.Error{Code: "not-found", Message: "m", Try: "t"}, 404, `{"code":"not-found","message":"m","try":"t"}`},
		{&api.Error{Code: "ambiguous", Message: "m"}, 409, `{"code":"ambiguous","message":"m"}`},
		{api.Conflict("vm %q: no", "a"), 409, `{"code":"conflict","message":"vm \"a\": no"}`},
		{&api.Error{Code: "unavailable", Message: "m"}, 503, `{"code":"unavailable","message":"m"}`},
		{&api.Error{Code: "invalid", Message: "m"}, 400, `{"code":"invalid","message":"m"}`},
		{&api.Error{Code: "unheard-of", Message: "m"}, 500, `{"code":"unheard-of","message":"m"}`},
		{errors.Join(errors.New("wrapped"), &api.Error{Code: "not-found", Message: "m"}), 404, `{"code":"not-found","message":"m"}`},
		{errors.New("boom"), 500, `{"code":"internal","message":"boom"}`},
	} {
		w := httptest.NewRecorder()
		Reply(w, "fine", tc.err)
		if body := strings.TrimSpace(w.Body.String()); w.Code != tc.status || body != tc.body || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v: %d %s, want %d %s", tc.err, w.Code, body, tc.status, tc.body)
		}
	}
}

// A reader gets the beginning of a stream at once, not when the first event comes.
func TestStreamBeginsBeforeTheFirstEvent(t *testing.T) {
	server := httptest.NewServer(Events(event.NewLog(0)))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"?after=0&follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/jsonl" {
		t.Errorf("%s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	cancel()
	_, _ = io.Copy(io.Discard, resp.Body)
}
