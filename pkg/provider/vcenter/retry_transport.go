package vcenter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// retryTransport retries a call when the response asks for it: an overloaded vCenter, or a proxy in front of it, rejects calls with
// status 429 or 503 and Retry-After. A rejected call was not executed, so any call may be repeated. Without that, a chain of
// calls never completes at a vCenter that limits concurrency, and starts over every time.
//
// The response is returned if it has no Retry-After, or if the deadline leaves no time for another try. Request bodies are
// kept in memory; those of calls are small.
type retryTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (p retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	body, err := wholeBody(req)
	if err != nil {
		return nil, err
	}
	for {
		if body != nil {
			req = req.Clone(ctx)
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, err := p.next.RoundTrip(req)
		if err != nil {
			return res, err
		}
		wait, ok := retryAfter(res)
		if !ok || !hasTime(ctx, wait) {
			return res, nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return res, nil // the caller gets its context's error when it reads
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
		_ = res.Body.Close()
	}
}

// wholeBody reads and closes a request's body; nil if it has none.
func wholeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

// maxRetryAfter is the longest Retry-After that is honored.
const maxRetryAfter = 30 * time.Second

// retryAfter returns when a rejected call may be tried again. It ignores dates, because clocks differ.
func retryAfter(res *http.Response) (time.Duration, bool) {
	if res.StatusCode != http.StatusServiceUnavailable && res.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	wait := time.Duration(seconds) * time.Second
	if err != nil || seconds <= 0 || wait > maxRetryAfter {
		return 0, false
	}
	return wait, true
}

// hasTime reports whether ctx allows more time than a pause.
func hasTime(ctx context.Context, pause time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) > pause
}
