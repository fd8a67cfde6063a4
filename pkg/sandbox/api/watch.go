package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// Update is one line of the stream in which a sandbox reports all changes: first all rows, up to a line that is Synced, then every
// change: a row that changes twice is sent twice. Besides Synced, exactly one
// of the pointers is set.
type Update struct {
	// Event is an event of the log. Lost is the number of events before it that a slow reader missed.
	Event *event.Event `json:"event,omitempty"`
	Lost  uint64       `json:"lost,omitempty"`

	Node       *Node       `json:"node,omitempty"`
	VM         *VM         `json:"vm,omitempty"`
	Host       *Host       `json:"host,omitempty"`
	VCenter    *VCenter    `json:"vcenter,omitempty"`
	Component  *Component  `json:"component,omitempty"`
	Lease      *Lease      `json:"lease,omitempty"`
	Volume     *Volume     `json:"volume,omitempty"`
	Attachment *Attachment `json:"attachment,omitempty"`
	Service    *Service    `json:"service,omitempty"`
	// VirtualMachine and VirtualMachineService are of the Supervisor, without their objects.
	VirtualMachine        *VirtualMachine        `json:"virtualMachine,omitempty"`
	VirtualMachineService *VirtualMachineService `json:"virtualMachineService,omitempty"`
	// Calls are counts of calls that have changed; each is sent at most once a second.
	Calls *Calls `json:"calls,omitempty"`
	// Run is the scenario that runs, if its runner reports it.
	Run *Run `json:"run,omitempty"`
	// Deleted marks a deleted row, with its last values.
	Deleted bool `json:"deleted,omitempty"`

	// Synced marks the end of the initial state.
	Synced bool `json:"synced,omitempty"`
}

// Calls counts the calls of one method by one client at one vCenter, since it was started.
type Calls struct {
	VCenter string `json:"vcenter"`
	Client  string `json:"client"` // User-Agent
	Method  string `json:"method"`
	Calls   uint64 `json:"calls"`
	Errors  uint64 `json:"errors"`
	// Hits counts the calls that a fault affected.
	Hits uint64 `json:"hits,omitempty"`
	// Latency is the sum over all calls, long polls included.
	Latency Duration `json:"latency,omitzero"`
	// Last is when the newest call ended, LastError the answer to the newest failed one.
	Last      time.Time `json:"last,omitzero"`
	LastError string    `json:"lastError,omitempty"`
}

// Calls counts what every vCenter was asked for, by method and client, vCenters in topology order.
func (c *Client) Calls(ctx context.Context) ([]Calls, error) { return get[[]Calls](ctx, c, "calls") }

// Watch calls f for each update, from what there is on, until ctx ends, f returns an error or the sandbox ends, which is
// nil. Events are those after the given Seq; [math.MaxUint64] leaves out what has happened already. A reader that is
// too slow is disconnected with an error, and must watch again.
func (c *Client) Watch(ctx context.Context, after uint64, f func(Update) error) error {
	resp, err := c.do(ctx, http.MethodGet, "watch?"+url.Values{"after": {strconv.FormatUint(after, 10)}}.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var u Update
		if err := d.Decode(&u); err == io.EOF {
			return nil
		} else if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("watch: %w", err)
		}
		if err := f(u); err != nil {
			return err
		}
	}
}
