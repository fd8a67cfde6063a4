package ccm

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/guestfiles"
	sv "github.com/vsphere-sandbox/vsphere-sandbox/pkg/supervisor"
)

// Modes of cloud controller managers.
const (
	vsphereMode     = "vsphere"
	paravirtualMode = "vsphere-paravirtual"
)

// GuestCommand is the command of this program that becomes a program with the files of a guest cluster.
const GuestCommand = "guest-files"

// Paravirtual reports whether a program in a guest cluster asks the Supervisor: each does that the sandbox gives its arguments.
func Paravirtual(o Options) bool { return !o.None && o.Installed == nil }

// mode is the value of --cloud-provider.
func (p *Processes) mode(o Options) string {
	if p.Guest != nil && Paravirtual(o) {
		return paravirtualMode
	}
	return vsphereMode
}

// guestArguments replace those that a program has outside of guest clusters. An error shows when the program starts.
func (p *Processes) guestArguments(o Options) []string {
	e, err := p.Guest()
	if err != nil {
		p.failed(err)
	}
	args := []string{
		"--cloud-config=" + filepath.Join(e.Dir, sv.ConfigFile),
		"--cluster-name=" + e.Guest,
	}
	controllers := "--controllers=*,-node-route-controller"
	if e.VPC {
		controllers = "--controllers=*"
		args = append(args, "--enable-vpc-mode", "--pod-ip-pool-type=Private", "--cluster-cidr="+sv.PodNetwork)
	}
	if !slices.ContainsFunc(o.Args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers=") }) { // a second list would be added to the first one
		args = append(args, controllers)
	}
	if o.Program.Own {
		args = append(args,
			"--supervisor-credentials="+filepath.Join(e.Dir, sv.CredentialsDir),
			"--supervisor-owner-reference="+filepath.Join(e.Dir, sv.OwnerFile))
	}
	return args
}

// inGuest has a process find the Supervisor: with the environment of a guest cluster's Pod, and, unless this project's program has
// flags for them, with the files at their places and the Supervisor's name.
func (p *Processes) inGuest(spec child.Spec, o Options) child.Spec {
	e, err := p.Guest()
	if err != nil {
		p.failed(err)
		return spec
	}
	spec.Env = append(spec.Env,
		"SUPERVISOR_APISERVER_ENDPOINT_IP="+e.Address,
		"SUPERVISOR_APISERVER_PORT="+strconv.Itoa(e.Port),
		"SUPERVISOR_CLUSTER_SERVICEACCOUNT_SECRET_NAME="+sv.CredentialsSecret)
	if o.Program.Own {
		return spec
	}
	files := guestfiles.Files{
		Host: e.HostEtc,
		Links: map[string]string{
			"cloud/ccm-provider":               filepath.Join(e.Dir, sv.CredentialsDir),
			"kubernetes/guestclusters/cluster": filepath.Join(e.Dir, filepath.Dir(sv.OwnerFile)),
		},
		Hosts: []string{e.Address + " " + sv.Host},
	}
	config := filepath.Join(e.Dir, "files.json")
	if err := child.WriteConfig(config, files); err != nil {
		p.failed(err)
		return spec
	}
	return p.Components.Spec(child.Spec{
		Name: spec.Name, Env: spec.Env, Mounts: true, Args: append([]string{GuestCommand, "--config=" + config, "--", spec.Path}, spec.Args...),
	})
}
