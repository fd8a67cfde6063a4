package sandbox

import (
	"errors"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// projection is the file with vsphere.conf, as a kubelet keeps it for a pod that mounts the ConfigMap. What cannot be
// projected leaves it as it was.
type projection struct {
	s    *Sandbox
	file string

	last    string // what is in the file; "" before the first time
	refused bool   // and is not what the ConfigMap says
}

// project brings the file up to date. It is called by one goroutine at a time.
func (p *projection) project(conf string) {
	switch {
	case conf == "":
		if !p.refused {
			p.s.cloudConfigRefused(errors.New(cloudConfigKey + ": missing or empty"))
		}
		p.refused = true
		return
	case conf == p.last:
		p.refused = false
		return
	}
	if p.last != "" {
		p.s.cloudConfigChanged() // first: what comes of it comes later
	}
	if err := replaceFile(p.file, []byte(conf)); err != nil {
		p.s.cloudConfigRefused(err)
		p.refused = true
		return
	}
	p.last, p.refused = conf, false
}

// cloudConfigChanged notes that vsphere.conf is about to be another. The cloud controller manager notices that by itself.
func (s *Sandbox) cloudConfigChanged() {
	s.log.Append(event.Event{
		Plane: event.PlaneKubernetes, Kind: "ccm.config-changed",
		Object: event.Object{Kind: "ConfigMap", Name: cloudConfigMap}, Message: cloudConfigKey + " changed",
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
	})
}

// replaceFile puts a whole new file, for its owner only, in the place of path.
func replaceFile(path string, data []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
