package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// Container is what a runtime knows of one.
type Container struct {
	ID, Name string
	Labels   map[string]string
	// Status is docker's word: created, running, paused, restarting, removing, exited, dead.
	Status string
	// PID is that of its first process as the runtime's machine counts, 0 when it does not run.
	PID       int
	ExitCode  int
	StartedAt time.Time
	// Mounts are the paths on the daemon's machine of what is mounted, by the path in the container.
	Mounts map[string]string
	// Networks has the container's address in each network by the network's name; one that is not valid when it does not run.
	Networks map[string]netip.Addr
}

// Running tells whether it runs, paused or not.
func (c Container) Running() bool { return c.Status == "running" || c.Status == "paused" }

// Inspect tells of one container.
func (r *Runtime) Inspect(ctx context.Context, container string) (Container, error) {
	out, err := r.Output(ctx, "container", "inspect", container)
	if err != nil {
		return Container{}, err
	}
	all, err := parseContainers(out)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%d containers of one name", len(all))
	}
	if err != nil {
		return Container{}, fmt.Errorf("%s container inspect %s: %w", r.name, container, err)
	}
	return all[0], nil
}

func parseContainers(out []byte) ([]Container, error) {
	var raw []struct {
		ID    string `json:"Id"`
		Name  string
		State struct {
			Status    string
			Pid       int
			ExitCode  int
			StartedAt time.Time
		}
		Mounts          []struct{ Source, Destination string }
		Config          struct{ Labels map[string]string }
		NetworkSettings struct {
			Networks map[string]struct{ IPAddress string }
		}
	}
	if err := json.Unmarshal(out, &raw); err != nil {
		return nil, err
	}
	var all []Container
	for _, c := range raw {
		known := Container{
			ID: c.ID, Name: trimSlash(c.Name), Labels: c.Config.Labels, Status: c.State.Status, PID: c.State.Pid,
			ExitCode: c.State.ExitCode, StartedAt: c.State.StartedAt, Networks: map[string]netip.Addr{}, Mounts: map[string]string{},
		}
		for _, m := range c.Mounts {
			known.Mounts[m.Destination] = m.Source
		}
		for name, n := range c.NetworkSettings.Networks {
			addr, _ := netip.ParseAddr(n.IPAddress) // "" when it does not run
			known.Networks[name] = addr
		}
		all = append(all, known)
	}
	return all, nil
}

// trimSlash takes docker's slash from a container's name.
func trimSlash(name string) string {
	if name != "" && name[0] == '/' {
		return name[1:]
	}
	return name
}
