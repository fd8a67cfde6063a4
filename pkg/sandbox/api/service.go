package api

import "context"

// Service is a Service of type LoadBalancer.
type Service struct {
	// Name is NAMESPACE/NAME.
	Name string `json:"name"`
	// Class is what selects the load balancer, or its class in NSX; "" for the default.
	Class string `json:"class,omitempty"`
	// Addresses are those of its status; none while it waits for one.
	Addresses []string `json:"addresses,omitempty"`
	// Ports are such as 8080/TCP.
	Ports []string `json:"ports,omitempty"`
	// Deleting: it is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// NSX is the state of its objects in NSX: REALIZED, UNREALIZED or ERROR, the worst of them; "" without any. NSXError is the
	// reason for the last.
	NSX      string `json:"nsx,omitempty"`
	NSXError string `json:"nsxError,omitempty"`
}

// Services lists the Services of type LoadBalancer, by name: none of a cluster that was not made for the sandbox.
func (c *Client) Services(ctx context.Context) ([]Service, error) {
	return get[[]Service](ctx, c, "services")
}
