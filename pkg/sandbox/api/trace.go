package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Trace returns the calls to the vCenters that the sandbox keeps with their bodies, as lines of package trace. With follow it continues
// until ctx or the sandbox ends, and a sandbox that keeps none has those from now on; without follow the latter is an error of
// code no-trace. The caller closes it.
func (c *Client) Trace(ctx context.Context, follow bool) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, "trace?"+url.Values{"follow": {strconv.FormatBool(follow)}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Exchange is one call with what was sent and answered, as text for readers, without secrets.
type Exchange struct {
	// Number is its place in the trace, from 1.
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// LastExchange returns the newest call that the sandbox keeps of a vCenter, a client (its whole User-Agent) and a method; "" is any. It
// is an error of code no-trace if the sandbox keeps none, of code not-found if none matches.
func (c *Client) LastExchange(ctx context.Context, vcenter, client, method string) (Exchange, error) {
	return get[Exchange](ctx, c, "trace/last?"+url.Values{"vcenter": {vcenter}, "client": {client}, "method": {method}}.Encode())
}
