package vcenter

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers is a server that returns these statuses in turn, and records its requests with their times.
type answers struct {
	list  []int
	after string
	asked []string
	began time.Time
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		body = string(data)
	}
	a.asked = append(a.asked, time.Since(a.began).String()+" "+body)
	status := a.list[0]
	a.list = a.list[1:]
	return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {a.after}}, Body: io.NopCloser(strings.NewReader("text"))}, nil
}

func TestPatient(t *testing.T) {
	for _, tc := range []struct {
		name  string
		list  []int
		after string
		limit time.Duration
		want  int
		asked []string
	}{
		{"served", []int{200}, "", 0, 200, []string{"0s call"}},
		{"turned away twice", []int{503, 429, 200}, "1", 10 * time.Second, 200, []string{"0s call", "1s call", "2s call"}},
		{"nobody says when", []int{503}, "", 10 * time.Second, 503, []string{"0s call"}},
		{"a date", []int{503}, "Wed, 21 Oct 2026 07:28:00 GMT", 10 * time.Second, 503, []string{"0s call"}},
		{"too late", []int{503, 503}, "2", 3 * time.Second, 503, []string{"0s call", "2s call"}},
		{"for ever", []int{503}, "3600", 0, 503, []string{"0s call"}},
		{"another status", []int{500}, "1", 10 * time.Second, 500, []string{"0s call"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.limit)
					defer cancel()
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://vc.invalid/sdk", io.MultiReader(strings.NewReader("ca"), strings.NewReader("ll"))) // as govmomi does
				if err != nil {
					t.Fatal(err)
				}
				a := &answers{list: tc.list, after: tc.after, began: time.Now()}
				res, err := retryTransport{a}.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if res.StatusCode != tc.want {
					t.Errorf("status %d, want %d", res.StatusCode, tc.want)
				}
				if diff := cmp.Diff(tc.asked, a.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}
