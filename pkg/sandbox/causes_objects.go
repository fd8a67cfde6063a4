package sandbox

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"

// causeOfObject finds the fault that has just changed a Secret or a ConfigMap, 0 when it was somebody else.
func (s *Sandbox) causeOfObject(kind, name string) uint64 {
	return s.within(justNow, []string{"object.changed"}, func(e event.Event) bool { return e.Object.Kind == kind && e.Object.Name == name })
}
