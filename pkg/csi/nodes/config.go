package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Config says whose nodes they are and where their VMs are looked for.
type Config struct {
	// Cluster tells the nodes. Mandatory.
	Cluster Cluster
	// VCenters and Categories are what [Nodes.Set] takes.
	VCenters   []VCenter
	Categories []Category

	// TagRefresh is how often tags are read when nothing asks for it; when zero, every 5 min where the vCenter's events
	// tell of every tag that is attached or detached, every 60 s where they do not.
	TagRefresh time.Duration
	// TagPause is the least time between two readings of tags; 300 ms when zero.
	TagPause time.Duration
	// Logger receives changes of state; none when nil.
	Logger *slog.Logger
}

// VCenter is one vCenter that nodes may be in.
type VCenter struct {
	// Client is run by whoever made it, for longer than [Nodes.Run].
	Client *vcenter.Client
	// Datacenters limits the nodes to VMs below datacenters of these names, inventory paths or references
	// ("Datacenter:datacenter-3"); empty for all.
	Datacenters []string
}

// Category is a tag category whose tags are topology.
type Category struct {
	Name string
	// Key is its topology key; names.TopologyPrefix and Name when empty.
	Key string
}

func (c Category) key() string { return cmp.Or(c.Key, names.TopologyPrefix+c.Name) }

func (c Config) check() error {
	if c.Cluster == nil {
		return errors.New("nodes: no cluster")
	}
	return check(c.VCenters, c.Categories)
}

func check(vcenters []VCenter, categories []Category) error {
	var errs []error
	if len(vcenters) == 0 {
		errs = append(errs, errors.New("no vcenter"))
	}
	seen := map[string]bool{}
	for _, vc := range vcenters {
		if vc.Client == nil {
			errs = append(errs, errors.New("vcenter without a client"))
			continue
		}
		if seen[vc.Client.Name()] {
			errs = append(errs, fmt.Errorf("vcenter %q twice", vc.Client.Name()))
		}
		seen[vc.Client.Name()] = true
	}
	keys := map[string]bool{}
	for _, c := range categories {
		switch {
		case c.Name == "":
			errs = append(errs, errors.New("category without a name"))
		case keys[c.key()]:
			errs = append(errs, fmt.Errorf("topology key %q twice", c.key()))
		}
		keys[c.key()] = true
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	return nil
}
