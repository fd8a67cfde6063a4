package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Client talks to one sandbox. Make it with [NewClient]; its methods may be called from any goroutine.
type Client struct {
	http *http.Client
}

// NewClient returns a client of the sandbox that listens on the unix socket at path. It connects at each call.
func NewClient(path string) *Client {
	var d net.Dialer
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", path) },
		DisableKeepAlives: true, // commands ask once and leave
	}}}
}

// Status returns the state of the sandbox.
func (c *Client) Status(ctx context.Context) (Status, error) { return get[Status](ctx, c, "status") }

// VCenters lists them in topology order, as all lists below.
func (c *Client) VCenters(ctx context.Context) ([]VCenter, error) {
	return get[[]VCenter](ctx, c, "vcenters")
}

// Datacenters lists those of every vCenter.
func (c *Client) Datacenters(ctx context.Context) ([]Datacenter, error) {
	return get[[]Datacenter](ctx, c, "datacenters")
}

// Hosts lists those of every vCenter.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) { return get[[]Host](ctx, c, "hosts") }

// VMs lists those of every vCenter.
func (c *Client) VMs(ctx context.Context) ([]VM, error) { return get[[]VM](ctx, c, "vms") }

// Nodes lists every node, and every VM that should be one.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) { return get[[]Node](ctx, c, "nodes") }

// Zones lists the failure domains.
func (c *Client) Zones(ctx context.Context) ([]Zone, error) { return get[[]Zone](ctx, c, "zones") }

// Secrets returns all that must be masked in an export: the secrets that the sandbox has had, replaced passwords included, and the
// present passwords of its vCenters. Only the owner of the socket can read them.
func (c *Client) Secrets(ctx context.Context) ([]string, error) {
	return get[[]string](ctx, c, "secrets")
}

// Access returns how to log in to every vCenter.
func (c *Client) Access(ctx context.Context) ([]Access, error) {
	return get[[]Access](ctx, c, "access")
}

// VM does something to a VM and returns when its vCenter reports it done.
func (c *Client) VM(ctx context.Context, r VMRequest) (Done, error) {
	return post[Done](ctx, c, "vm", r)
}

// Gate sets what clients get of a vCenter.
func (c *Client) Gate(ctx context.Context, r GateRequest) (Done, error) {
	return post[Done](ctx, c, "gate", r)
}

// Stop asks the sandbox to end, and returns when it has started to. The lock of the instance is free when it has ended.
func (c *Client) Stop(ctx context.Context) (Done, error) {
	return post[Done](ctx, c, "stop", struct{}{})
}

// Events calls f for each event after the given Seq, oldest first, with the number of events lost just before it. With
// follow it continues until ctx or the sandbox ends; without, it returns after the newest event.
func (c *Client) Events(ctx context.Context, after uint64, follow bool, f func(e event.Event, lost uint64) error) error {
	q := url.Values{"after": {strconv.FormatUint(after, 10)}, "follow": {strconv.FormatBool(follow)}}
	resp, err := c.do(ctx, http.MethodGet, "events?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var line EventLine
		if err := d.Decode(&line); err == io.EOF {
			return nil
		} else if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("events: %w", err)
		}
		if err := f(line.Event, line.Lost); err != nil {
			return err
		}
	}
}

// EventLine is one line of the event stream.
type EventLine struct {
	event.Event
	// Lost counts the events before this one that the reader came too late for.
	Lost uint64 `json:"lost,omitempty"`
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	return decode[T](c.do(ctx, http.MethodGet, path, nil)) //nolint:bodyclose // decode closes it
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	b, err := json.Marshal(body)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](c.do(ctx, http.MethodPost, path, bytes.NewReader(b))) //nolint:bodyclose // decode closes it
}

func decode[T any](resp *http.Response, err error) (T, error) {
	var v T
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	return v, json.NewDecoder(resp.Body).Decode(&v)
}

// do sends a request; an answer that is not 200 becomes an [Error].
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://sandbox/v1/"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	e := &Error{}
	if err := json.NewDecoder(resp.Body).Decode(e); err != nil || e.Code == "" {
		return nil, fmt.Errorf("sandbox: %s %s: %s", method, path, resp.Status)
	}
	return nil, e
}
