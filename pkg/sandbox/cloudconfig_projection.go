package sandbox

import (
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// projection is the file with vsphere.conf, as a kubelet keeps it for a pod that mounts the ConfigMap: with whatever is in
// the key, nothing as well, and gone when the key is. A ConfigMap that is gone leaves the file as it was.
type projection struct {
	s    *Sandbox
	file string

	made bool    // it was there once
	last *string // what is in it; nil while it is not there
}

// project brings the file up to date. It is called by one goroutine at a time.
func (p *projection) project(data map[string]string) {
	conf, there := data[cloudConfigKey]
	if !there && p.last == nil || there && p.last != nil && conf == *p.last {
		return
	}
	write, what := func() error { return private.WriteFile(p.file, []byte(conf)) }, "changed"
	switch {
	case !there:
		write, what = func() error { return os.Remove(p.file) }, "is gone"
	case conf == "":
		what = "is empty"
	}
	if p.made {
		p.s.cloudConfigChanged(what) // first: what comes of it comes later
	}
	if err := write(); err != nil {
		p.s.cloudConfigRefused(err)
		return
	}
	if p.last, p.made = nil, true; there {
		p.last = &conf
	}
}

// cloudConfigChanged notes that vsphere.conf is about to be another. The cloud controller manager notices that by itself.
func (s *Sandbox) cloudConfigChanged(what string) {
	s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Kind: "ccm.config-changed",
		Object: event.Object{Kind: "ConfigMap", Name: cloudConfigMap}, Message: cloudConfigKey + " " + what,
		Cause: s.causes.OfChange("ConfigMap", cloudConfigMap),
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsettled = true
}

// cloudConfigRefused notes that the cloud controller manager does not get to see what the ConfigMap says.
func (s *Sandbox) cloudConfigRefused(err error) {
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.config-rejected",
		Object: event.Object{Kind: "ConfigMap", Name: cloudConfigMap}, Message: err.Error(),
		Cause: s.causes.OfChange("ConfigMap", cloudConfigMap),
	})
}
