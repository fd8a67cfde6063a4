package api

import "context"

// NSXName is the name of the NSX Manager, as a target of faults and in [GateRequest].
const NSXName = "nsx"

// NSXObject is a policy object of the NSX Manager that is not part of NSX itself.
type NSXObject struct {
	// Type is the resource type: LBVirtualServer.
	Type string `json:"type"`
	Name string `json:"name"`
	Path string `json:"path"`
	// State is REALIZED, UNREALIZED or ERROR, Error the reason for the last.
	State string `json:"state"`
	Error string `json:"error,omitempty"`
	// Address is that of an allocation or a virtual server.
	Address string `json:"address,omitempty"`
	// Service is the Service that the object belongs to, by the tag that upstream's provider sets.
	Service  string `json:"service,omitempty"`
	Revision int64  `json:"revision"`
	// User created it.
	User string `json:"user"`
	// Object is the object as the Policy API has it.
	Object map[string]any `json:"object"`
}

// NSX lists the objects of the NSX Manager by path: none without one.
func (c *Client) NSX(ctx context.Context) ([]NSXObject, error) {
	return get[[]NSXObject](ctx, c, "nsx")
}
