package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Attach implements [volume.Store]. A volume can be attached only to VMs of its own vCenter, so that is the one asked,
// with three calls where it goes well: the attachment, its task into the view, and the poll that others share.
func (s *Store) Attach(ctx context.Context, id string, n volume.Node) (diskUUID string, err error) {
	defer s.observe(n.VCenter, "attach", time.Now(), &err)
	c, err := s.conn(n.VCenter)
	if err != nil {
		return "", err
	}
	if id == "" || n.VM == "" {
		return "", fmt.Errorf("attach volume %q to VM %q: %w: empty id", id, n.VM, volume.ErrInvalid)
	}
	what := fmt.Sprintf("attach volume %s to %s", id, shown(n))
	return join(ctx, s, id, what, func(ctx context.Context) (uuid string, err error) {
		uuid, err = s.attach(ctx, c, id, n)
		if err == nil {
			s.holders.put(id, c)
			s.holders.attached(id, n)
		}
		about(c, &err, "%s", what)
		return uuid, err
	})
}

func vm(id string) ref { return ref{Type: "VirtualMachine", Value: id} }

// shown names a node and its VM.
func shown(n volume.Node) string {
	if n.Name == "" {
		return "VM " + n.VM
	}
	return fmt.Sprintf("node %s (%s)", n.Name, n.VM)
}

func (s *Store) attach(ctx context.Context, c *conn, id string, n volume.Node) (string, error) {
	result, err := c.operate(ctx, func(ctx context.Context, svc *services) (ref, error) {
		res, err := cnsmethods.CnsAttachVolume(ctx, svc.cns, &cnstypes.CnsAttachVolume{
			This: manager(), AttachSpecs: []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: volumeID(id), Vm: vm(n.VM)}},
		})
		if err != nil {
			return ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		return s.attachRefused(ctx, c, id, n, err)
	}
	if attached, ok := result.(*cnstypes.CnsVolumeAttachResult); ok && attached.DiskUUID != "" {
		return names.Compact(attached.DiskUUID), nil
	}
	uuid, err := c.disk(ctx, id, vm(n.VM))
	if err == nil && uuid == "" {
		err = errors.New("attached, but no disk of the VM is it")
	}
	return uuid, err
}

// attachRefused finds out what a refusal means: in use by that very VM it is none.
func (s *Store) attachRefused(ctx context.Context, c *conn, id string, n volume.Node, err error) (string, error) {
	switch {
	case errors.Is(err, volume.ErrInUse):
		uuid, diskErr := c.disk(ctx, id, vm(n.VM))
		if diskErr != nil {
			return "", fmt.Errorf("%w; whether by this VM: %w", err, diskErr)
		}
		if uuid != "" {
			return uuid, nil
		}
		if other := c.user(ctx, id); other != "" {
			return "", fmt.Errorf("attached to %s: %w", other, err)
		}
	case errors.Is(err, volume.ErrNotFound) && len(s.conns()) > 1:
		if other, locateErr := s.locate(ctx, id); locateErr == nil && other != c {
			return "", fmt.Errorf("%w: the volume is in vcenter %q", volume.ErrState, other.name())
		}
	}
	return "", err
}

// user names the node that has the volume; empty when it is none that is known.
func (c *conn) user(ctx context.Context, id string) string {
	nodes, _ := c.opts.Nodes(c.name()) // those that are known may have it
	attached, err := c.attached(ctx, nodes)
	if err != nil {
		return ""
	}
	for _, a := range attached {
		if a.Volume == id {
			return shown(a.Node)
		}
	}
	return ""
}
