package volumetest

import "context"

// Fail lets the next call of a method, by its name, fail with that error; several calls of Fail are for as many.
func (c *Cluster) Fail(method string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[method] = append(c.faults[method], err)
}

// Hold keeps calls of a method waiting until release is called, which it may be more than once, or their context ends.
func (c *Cluster) Hold(method string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hold := make(chan struct{})
	c.holds[method] = hold
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds[method] == hold {
			delete(c.holds, method)
			close(hold)
		}
	}
}

// Calls is how often a method has been called, those held included.
func (c *Cluster) Calls(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[method]
}

// enter is the beginning of every method: faults, holds and the end of the context.
func (c *Cluster) enter(ctx context.Context, method string) error {
	c.mu.Lock()
	c.calls[method]++
	hold := c.holds[method]
	var err error
	if all := c.faults[method]; len(all) > 0 {
		err, c.faults[method] = all[0], all[1:]
	}
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
