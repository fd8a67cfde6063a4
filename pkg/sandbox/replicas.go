package sandbox

import (
	"context"
	"fmt"
	"strings"
)

// replicas is how many processes of a component the sandbox keeps: 0 when it has none of that name, or, of a kubelet,
// when its VM is off.
func (s *Sandbox) replicas(component string) int {
	switch {
	case component == ccmComponent:
		return s.ccmReplicas()
	case strings.HasPrefix(component, "node/"):
		if t, err := s.supervised(component); err != nil || !t.alive() {
			return 0
		}
	case s.childOf(component) == nil:
		return 0
	}
	return 1
}

// scale changes how many there are.
func (s *Sandbox) scale(ctx context.Context, component string, replicas int) error {
	switch {
	case s.replicas(component) == replicas:
		return nil
	case component == ccmComponent:
		return s.scaleCCM(ctx, replicas)
	}
	return fmt.Errorf("component %q: cannot be scaled to %d", component, replicas)
}
