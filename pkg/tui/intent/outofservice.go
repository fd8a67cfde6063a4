package intent

import "context"

// Args implements [Action].
func (a OutOfService) Args() []string { return a.command().args() }

func (a OutOfService) command() command {
	c := command{words: []string{"taint", "out-of-service"}, names: []string{a.Node}}
	if a.Remove {
		c.flags = []string{"--remove"}
	}
	return c
}

// Danger implements [Action].
func (a OutOfService) Danger() string {
	if a.Remove {
		return ""
	}
	return "Say that node " + a.Node + " is out of service? Its pods are removed and its volumes detached, whether it runs or not."
}

// Do implements [Action].
func (a OutOfService) Do(ctx context.Context, s Sandbox) (string, error) {
	done, err := s.OutOfService(ctx, a.OutOfServiceRequest)
	return done.Message, err
}
