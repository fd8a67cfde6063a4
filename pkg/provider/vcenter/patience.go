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

// patient asks again where an answer says when to: a vCenter, or a proxy before it, that has too much to do turns calls away
// with status 429 or 503 and Retry-After. What was turned away was not done, so any call may be repeated. Without that, a
// chain of calls is never finished at a vCenter that lets fewer through at once, and begins anew again and again.
//
// The answer is handed on when it says no time, and when there is none left for another try. Bodies are kept in memory: those
// of calls are small.
type patient struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
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
		if !ok || !leaves(ctx, wait) {
			return res, nil
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return res, nil // the caller finds that its time is over when it reads
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // the connection can be used again
		_ = res.Body.Close()
	}
}

// wholeBody reads a request's body, and closes it; nil when there is none.
func wholeBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

// mostPatience is the longest time that an answer may name and be heeded.
const mostPatience = 30 * time.Second

// retryAfter is when a call that was turned away may be tried again. A date is not heeded: clocks differ.
func retryAfter(res *http.Response) (time.Duration, bool) {
	if res.StatusCode != http.StatusServiceUnavailable && res.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	wait := time.Duration(seconds) * time.Second
	if err != nil || seconds <= 0 || wait > mostPatience {
		return 0, false
	}
	return wait, true
}

// leaves tells whether there is time for more than a pause. Who sets no limit waits as long as it takes.
func leaves(ctx context.Context, pause time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) > pause
}
