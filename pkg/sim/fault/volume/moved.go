package volume

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// place is where a volume was.
type place struct {
	Datastore string `json:"datastore"`
}

func moved() *fault.Kind {
	return fault.New(fault.Kind{
		Name:  "volume.moved",
		Short: "moves volumes to another datastore behind Kubernetes' back",
		Long: `As an administrator or storage DRS does. Volumes that are attached move, too, if their VM's host reaches the datastore. The
PersistentVolume tells the topology of where it was made: when nodes of another zone reach the new datastore only, nobody tells Kubernetes.
Healing moves the volume back.`,
		Object: fault.Volume, Needs: []fault.Need{fault.Simulator}, Touches: "datastore",
		Params:   []fault.Param{{Name: "datastore", Short: "the name of the datastore, in the same datacenter", Type: fault.Text, Required: true}},
		Reported: []string{"vsphere-csi-driver#641", "vsphere-csi-driver#1274", "vsphere-csi-driver#2744"},
	}, fault.Steps[place]{
		Plan: func(ctx context.Context, c *fault.Call) (p place, does string, err error) {
			_, v, known, err := target(c)
			if err == nil && !known {
				err = lost(c)
			}
			if err != nil {
				return p, "", err
			}
			to := c.Params.Text("datastore")
			if to == v.DatastoreName {
				return p, "", fault.Refuse("volume %q: is on datastore %s already", c.Target.Name, to)
			}
			if err := isDatastore(ctx, c, to); err != nil {
				return p, "", err
			}
			return place{v.DatastoreName}, fmt.Sprintf("move from datastore %s to %s", v.DatastoreName, to), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *place) error {
			return move(ctx, c, c.Params.Text("datastore"))
		},
		Revert: func(ctx context.Context, c *fault.Call, p *place) error {
			if _, v, known, err := target(c); err != nil || !known || v.DatastoreName == p.Datastore {
				return err
			}
			return move(ctx, c, p.Datastore)
		},
	})
}

func move(ctx context.Context, c *fault.Call, datastore string) error {
	ep, _, _, err := target(c)
	if err != nil {
		return err
	}
	defer ep.Sim.CausingVolume(c.Target.ID, c.Seq)()
	return ep.Sim.RelocateVolume(ctx, c.Target.ID, datastore)
}

// isDatastore refuses a name that no datastore of the vCenter has.
func isDatastore(ctx context.Context, c *fault.Call, name string) error {
	all, err := c.Ground.Items(ctx, fault.Datastore)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.VCenter == c.Target.VCenter && d.Name == name {
			return nil
		}
	}
	return fault.Refuse("datastore %q: vCenter %s has none of that name", name, c.Target.VCenter)
}
