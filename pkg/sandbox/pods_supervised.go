package sandbox

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
)

// supervisedPod is what can be done to a container of a pod.
func (s *Sandbox) supervisedPod(is deploy.Change) *supervised {
	name := is.Component
	return &supervised{
		name: name, component: name, wire: name, object: event.Object{Kind: "Component", Name: name},
		runs: func() error {
			if c, ok := s.pods.Find(name); !ok || c.State != deploy.Running {
				return fmt.Errorf("%s: no process is running: %s", name, components.PodText(c))
			}
			return nil
		},
		alive: func() bool { _, ok := s.pods.Find(name); return ok },
		crash: func(ctx context.Context) error { return s.pods.Kill(ctx, name) },
		pause: func(ctx context.Context) (bool, error) {
			if err := s.pods.Pause(ctx, name); err != nil {
				return false, err
			}
			return s.components.Freeze(name, true), nil
		},
		resume: func(ctx context.Context) (bool, error) {
			if err := s.pods.Resume(ctx, name); err != nil {
				return false, err
			}
			return s.components.Freeze(name, false), nil
		},
		restart: func(ctx context.Context) error {
			s.components.Freeze(name, false)
			return s.pods.Restart(ctx, name)
		},
	}
}
