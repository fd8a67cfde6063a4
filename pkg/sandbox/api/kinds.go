package api

import "context"

// FaultKind is something that can be broken.
type FaultKind struct {
	// Name is dotted lower case, the object first: vm.power-off.
	Name  string `json:"name"`
	Theme string `json:"theme"`
	// Short says in one line what happens, Long what else a user wants to know.
	Short string `json:"short"`
	Long  string `json:"long,omitempty"`
	// Object is what it happens to: vm, host, vcenter, node, component.
	Object string       `json:"object"`
	Params []FaultParam `json:"params,omitempty"`
	// Needs is what a ground must have for it.
	Needs []string `json:"needs,omitempty"`
	// Unsupported says why it cannot be injected on the ground of this sandbox; "" for one that can.
	Unsupported string `json:"unsupported,omitempty"`
	// Momentary: it is over when it is injected, and not healed.
	Momentary bool     `json:"momentary,omitempty"`
	Reported  []string `json:"reported,omitempty"`
}

// FaultParam is something that can be said of a fault.
type FaultParam struct {
	Name     string `json:"name"`
	Short    string `json:"short"`
	Type     string `json:"type,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Choices are all values that there are, if these are few.
	Choices []string `json:"choices,omitempty"`
}

// FaultKinds lists what can be broken, by theme.
func (c *Client) FaultKinds(ctx context.Context) ([]FaultKind, error) {
	return get[[]FaultKind](ctx, c, "fault-kinds")
}
