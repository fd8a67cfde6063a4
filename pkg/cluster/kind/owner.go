package kind

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Leftover is a container of a cluster that has the name of a sandbox's.
type Leftover struct {
	Container string
	// Dir is the Options.Dir of the sandbox that made it, "" when it was no sandbox.
	Dir string
}

// Leftovers lists the containers, running or not, of the cluster that the sandbox of that name has, or had, or would have.
func Leftovers(ctx context.Context, rt *runtime.Runtime, sandbox string) ([]Leftover, error) {
	names, err := rt.List(ctx, clusterLabel, ClusterName(sandbox))
	if err != nil {
		return nil, err
	}
	var all []Leftover
	for _, name := range names {
		known, err := rt.Inspect(ctx, name)
		if coded.Is(err, runtime.ContainerMissing) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		l := Leftover{Container: name}
		if file := known.Mounts[ownerPath]; file != "" {
			l.Dir = filepath.Dir(file)
		}
		all = append(all, l)
	}
	return all, nil
}

// Reap removes what a sandbox of that name, whose Options.Dir was dir, has left in the runtime: containers, their volumes, and
// kind's network if it was made by a sandbox and is nobody's now. It tells what was removed. Containers of others stay; to
// have nothing to remove is no error. It is for `down` and for a sandbox that was killed.
func Reap(ctx context.Context, rt *runtime.Runtime, sandbox, dir string) (removed []string, err error) {
	left, err := Leftovers(ctx, rt, sandbox)
	if err != nil {
		return nil, err
	}
	removed = ours(left, dir)
	if err := rt.Remove(ctx, removed...); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", ClusterName(sandbox), err)
	}
	helpers, err := rt.List(ctx, helperLabel, ClusterName(sandbox))
	if err == nil {
		err = rt.Remove(ctx, helpers...)
	}
	return removed, errors.Join(err, removeNetwork(ctx, rt))
}

// ours are the containers that the sandbox in a directory has made.
func ours(left []Leftover, dir string) (names []string) {
	for _, l := range left {
		if same(l.Dir, dir) {
			names = append(names, l.Container)
		}
	}
	return names
}

// claim has the name free: what a killed sandbox of ours has left is removed, a cluster of others is refused.
func (c *Cluster) claim(ctx context.Context, say sayf) error {
	left, err := Leftovers(ctx, c.rt, c.opts.Name)
	if err != nil {
		return err
	}
	for _, l := range left {
		if same(l.Dir, c.opts.Dir) {
			continue
		}
		whose, try := "which no sandbox has made", fmt.Sprintf("kind delete cluster --name %s, if it is not needed\nor give the sandbox another name: --name", c.Name())
		if l.Dir != "" {
			whose = "which the sandbox in " + l.Dir + " has made"
			try = "take that one down, with the same state directory\nor give this one another name: --name"
		}
		return coded.New(NameTaken, try, nil, "there is a cluster called %s already, %s (container %s)", c.Name(), whose, l.Container)
	}
	if len(left) == 0 {
		return nil
	}
	removed, err := Reap(ctx, c.rt, c.opts.Name, c.opts.Dir)
	if len(removed) > 0 {
		say("removed what an earlier run has left: %s", strings.Join(removed, ", "))
	}
	return err
}

// same tells whether two directories are one, however they are spelt. Docker Desktop puts its own before a machine's paths.
func same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a = strings.TrimPrefix(a, "/host_mnt")
	if resolved, err := filepath.EvalSymlinks(a); err == nil {
		a = resolved
	}
	if resolved, err := filepath.EvalSymlinks(b); err == nil {
		b = resolved
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// DeleteTime is how long it may take to remove a cluster, even on a busy machine. Whoever deletes one is given that long.
const DeleteTime = 90 * time.Second

// GiveUpTime is how long [Cluster.Create] takes at most to return after its context has ended: kind has DeleteTime to give up, and
// what there is by then as long to be removed.
const GiveUpTime = 2 * DeleteTime

// Delete removes the cluster: its containers and volumes, the ways to this machine, kind's network if nobody else has it, and
// the files in Options.Dir. It does so again, and to a cluster that was never made, without an error.
func (c *Cluster) Delete(ctx context.Context) error {
	errs := []error{c.Close()}
	if c.rt != nil {
		_, err := Reap(ctx, c.rt, c.opts.Name, c.opts.Dir)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err // the files say whose the containers are
	}
	return c.removeFiles()
}
