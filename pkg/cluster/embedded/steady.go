package embedded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// patience is how long a request waits for a control plane that died to be ready again.
const patience = time.Minute

// steady is a transport whose requests outlive the control plane: one whose connection is lost is sent again once the control
// plane that is started in its place is ready. The API server may have carried out the lost request: a creation that is sent again
// then fails with AlreadyExists, which every caller in the sandbox takes for done, since it may find objects of an earlier boot.
type steady struct {
	next  http.RoundTripper
	ready func(context.Context) error // returns when the control plane is ready
}

// RoundTrip implements [http.RoundTripper].
func (s steady) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		answer, err := s.send(r)
		if err == nil || !lost(err) || r.Context().Err() != nil || r.Body != nil && r.GetBody == nil {
			return answer, err
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		notReady := s.ready(ctx)
		cancel()
		if notReady != nil {
			return nil, errors.Join(err, notReady)
		}
		r = r.Clone(r.Context())
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// send sends a request. The answer has all of its body, but for those that have no end: watches and logs.
func (s steady) send(r *http.Request) (*http.Response, error) {
	answer, err := s.next.RoundTrip(r)
	endless := r.URL.Query().Has("watch") || r.URL.Query().Has("follow")
	if err != nil || endless || answer.StatusCode == http.StatusSwitchingProtocols {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// lost reports whether the error means that the server is gone, rather than slow or of another opinion. Connections to a control
// plane that starts again wait: they are refused only after [Cluster.Close].
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}
