package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// guest is what a fault may change of a node from within.
type guest struct {
	node node.Guest
	dir  string
}

// WithholdLinks has no disk that comes appear in the guest of a node, component node/NAME, or ends that.
func (p processes) WithholdLinks(component string, withheld bool) error {
	t, err := p.volumes(component)
	if err != nil {
		return err
	}
	level, kind, message := event.Info, "node.links-shown", "disks that it is given appear again"
	if withheld {
		level, kind, message = event.Warning, "node.links-withheld", "disks that it is given do not appear any more"
	}
	p.note(t, level, kind, message)
	t.guest.node.WithholdLinks(withheld)
	return nil
}

// RegisterCSI takes the socket away by which the kubelet of a node, component node/NAME, knows its CSI node service, or puts
// it back. A kubelet that was started in between has another one.
func (p ownProcesses) RegisterCSI(component string, registered bool) error {
	t, err := p.volumes(component)
	if err != nil {
		return err
	}
	socket := filepath.Join(t.guest.dir, "kubelet", "plugins_registry", names.Driver+"-reg.sock")
	aside := filepath.Join(t.guest.dir, "csi-registration.aside")
	if registered {
		return putBack(aside, socket)
	}
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(socket, aside); err != nil { // not renamed: kubelet does not notice that
		return err
	}
	p.note(t, event.Warning, "node.csi-socket-removed", "the socket that announces its CSI node service is gone")
	return os.Remove(socket)
}

// putBack moves a file to where it was, unless there is another one.
func putBack(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrNotExist): // done already
		return nil
	case err != nil && !errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Remove(from)
}

// volumes finds a node that takes volumes.
func (p processes) volumes(component string) (*supervised, error) {
	t, err := p.s.supervised(component)
	switch {
	case err != nil:
		return nil, err
	case t.guest == nil:
		return nil, fmt.Errorf("component %q: is no node", component)
	case !p.s.opts.CSI.Enabled:
		return nil, errors.New("the sandbox has no volumes: it was started with --csi off")
	}
	return t, nil
}
