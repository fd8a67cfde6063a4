package vcenter

// Changed returns the state at this moment, and a channel that is closed when there is a newer one.
func (c *Client) Changed() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}
