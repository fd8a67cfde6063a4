package vcenter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
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

// Call describes a call that was made to a vCenter.
type Call struct {
	// Method is the SOAP method ("FindByUuid") or the verb and path of a REST call, without identifiers and with its
	// action, if any ("GET /com/vmware/cis/tagging/tag",
	// "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-objects-on-tags").
	Method string
	// Result is "ok", "error" for a fault, "timeout", "unreachable" (also for a proxy's 502, 503 or 504), or "canceled" if the
	// caller's context was canceled, as at the end of the process.
	Result string
	// Duration is the time from the request to the response.
	Duration time.Duration
}

// The values of [Call.Result].
const (
	resultOK          = "ok"
	resultError       = "error"
	resultTimeout     = "timeout"
	resultUnreachable = "unreachable"
	resultCanceled    = "canceled"
)

// observe calls OnCall for the calls that pass through next.
func (c *Config) observe(next soap.RoundTripper) soap.RoundTripper {
	if c.OnCall == nil {
		return next
	}
	return soapObserver{next: next, onCall: c.OnCall}
}

type soapObserver struct {
	next   soap.RoundTripper
	onCall func(Call)
}

// RoundTrip implements [soap.RoundTripper].
func (o soapObserver) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	began := time.Now()
	err := o.next.RoundTrip(ctx, req, res)
	o.onCall(Call{Method: soapMethod(req), Result: soapResult(ctx, err), Duration: time.Since(began)})
	return err
}

// soapMethod names a call by the type of its body, which is the method's name plus "Body".
func soapMethod(req soap.HasFault) string {
	t := reflect.TypeOf(req)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(t.Name(), "Body")
}

func soapResult(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return resultOK
	case soap.IsSoapFault(err):
		return resultError
	}
	return failureResult(ctx, err)
}

// failureResult classifies a call without a response.
func failureResult(ctx context.Context, err error) string {
	var netErr net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return resultCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return resultTimeout
	}
	return resultUnreachable
}

// observeHTTP is observe for REST.
func (c *Config) observeHTTP(next http.RoundTripper) http.RoundTripper {
	if c.OnCall == nil {
		return next
	}
	return restObserver{next: next, onCall: c.OnCall}
}

type restObserver struct {
	next   http.RoundTripper
	onCall func(Call)
}

// RoundTrip implements [http.RoundTripper].
func (o restObserver) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	res, err := o.next.RoundTrip(req)
	o.onCall(Call{Method: restMethod(req), Result: restResult(req.Context(), res, err), Duration: time.Since(began)})
	return res, err
}

func restResult(ctx context.Context, res *http.Response, err error) string {
	switch {
	case err != nil:
		return failureResult(ctx, err)
	case res.StatusCode < http.StatusBadRequest:
		return resultOK
	case res.StatusCode >= http.StatusBadGateway && res.StatusCode <= http.StatusGatewayTimeout:
		return resultUnreachable
	}
	return resultError
}

// restMethod names a REST call without identifiers: path segments like "id:urn:vmomi:InventoryServiceTag:…" or UUIDs.
func restMethod(req *http.Request) string {
	var b strings.Builder
	b.WriteString(req.Method)
	b.WriteByte(' ')
	for segment := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/rest"), "/"), "/") {
		if segment == "" || strings.ContainsRune(segment, ':') || len(segment) == 36 && strings.Count(segment, "-") == 4 {
			continue
		}
		b.WriteByte('/')
		b.WriteString(segment)
	}
	for _, key := range []string{"~action", "action"} {
		if action := req.URL.Query().Get(key); action != "" {
			b.WriteString("?" + key + "=" + action)
			break
		}
	}
	return b.String()
}
