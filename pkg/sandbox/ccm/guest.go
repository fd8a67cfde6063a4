package ccm

import (
	"net/netip"
	"path/filepath"
	"strconv"

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

// Paravirtual reports whether a program in a guest cluster asks the Supervisor. This project's program asks the vCenter.
func Paravirtual(o Options) bool { return !o.Program.Own && !o.None && o.Installed == nil }

// mode is the value of --cloud-provider.
func (p *Processes) mode(o Options) string {
	if p.Guest != nil && Paravirtual(o) {
		return paravirtualMode
	}
	return vsphereMode
}

// guestArguments replace those that a program has outside of guest clusters. An error shows when the program starts.
func (p *Processes) guestArguments() []string {
	e, err := p.Guest()
	if err != nil {
		p.failed(err)
	}
	return []string{
		"--cloud-config=" + filepath.Join(e.Dir, sv.ConfigFile),
		"--cluster-name=" + e.Guest,
		// Routes need pods with addresses of their nodes' networks, which a Supervisor gives only on request.
		"--controllers=*,-node-route-controller",
	}
}

// inGuest has a process see the files of a guest cluster at their places, and the Supervisor by its name.
func (p *Processes) inGuest(spec child.Spec) child.Spec {
	e, err := p.Guest()
	if err != nil {
		p.failed(err)
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
	address := netip.AddrPortFrom(netip.MustParseAddr(e.Address), uint16(e.Port))
	env := append(spec.Env,
		"SUPERVISOR_APISERVER_ENDPOINT_IP="+address.Addr().String(),
		"SUPERVISOR_APISERVER_PORT="+strconv.Itoa(e.Port),
		"SUPERVISOR_CLUSTER_SERVICEACCOUNT_SECRET_NAME="+sv.CredentialsSecret)
	return p.Components.Spec(child.Spec{
		Name: spec.Name, Env: env, Mounts: true, Args: append([]string{GuestCommand, "--config=" + config, "--", spec.Path}, spec.Args...),
	})
}
