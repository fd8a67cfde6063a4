package clients

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

const lab = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  vcenters:
    - name: vc
      users: [{name: user@vsphere.local, password: pass}]
      permissions: [{user: user@vsphere.local, role: Admin}]
      datacenters:
        - name: dc
          clusters: [{name: c1, hosts: [{name: h1}, {name: h2}]}]
          datastores: [{name: ds}]
          vms: [{name: vm-1, role: worker}, {name: vm-2, role: worker}]
`

// vcenter starts a simulated vCenter and returns its address and port.
func vcenter(t *testing.T) (address, port string) {
	t.Helper()
	v, ok := sim.Start(t, lab).VCenter("vc")
	if !ok {
		t.Fatal("no vCenter")
	}
	address, port, err := net.SplitHostPort(v.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return address, port
}

// run runs a client and returns what it prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Every pyvmomi refuses properties that it does not know, enums without a value, and tasks of a method that it does not know. All
// releases print the same: the one that is installed, such as 6.7.1, and those that hack/pyvmomi has fetched, such as 8.0.3.
func TestPyvmomi(t *testing.T) {
	t.Run("installed", func(t *testing.T) { pyvmomi(t, "") })
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	fetched, err := filepath.Glob(filepath.Join(cache, "vsphere-sandbox", "pyvmomi", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(fetched) == 0 {
		t.Log("no newer release is there: hack/pyvmomi fetches them")
	}
	for _, dir := range fetched {
		t.Run(filepath.Base(dir), func(t *testing.T) { pyvmomi(t, dir) })
	}
}

// pyvmomi runs the script with the release in a directory, or with the installed one.
func pyvmomi(t *testing.T, dir string) {
	const python = "/usr/bin/python3"
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	if dir != "" {
		t.Setenv("PYTHONPATH", dir)
	}
	if err := exec.CommandContext(t.Context(), python, "-W", "ignore", "-c", "import pyVmomi").Run(); err != nil {
		t.Skip("pyvmomi is not installed: apt-get install python3-pyvmomi")
	}
	address, port := vcenter(t)
	got := run(t, python, "-W", "ignore", "testdata/life.py", address, port, "user@vsphere.local", "pass")
	want, err := os.ReadFile("testdata/life.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
}

// libvirt's ESX driver reads the type of each element of a list.
func TestVirsh(t *testing.T) {
	if _, err := exec.LookPath("virsh"); err != nil {
		t.Skip("virsh is not installed: apt-get install libvirt-clients")
	}
	address, port := vcenter(t)
	auth := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(auth, []byte("[credentials-vc]\nusername=user@vsphere.local\npassword=pass\n\n[auth-esx-"+address+"]\ncredentials=vc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIBVIRT_AUTH_FILE", auth)
	t.Setenv("LIBVIRT_DEBUG", "4") // errors: it warns of each property that it does not know, as with a real vCenter
	for _, step := range []struct{ command, want string }{
		{"list --all", "vm-1 running"},
		{"dominfo vm-1", "State: running CPU(s): 2 Max memory: 4194304 KiB"},
		{"destroy vm-1", "destroyed"},
		{"domstate vm-1", "shut off"},
		{"start vm-1", "started"},
		{"suspend vm-1", "suspended"},
		{"domstate vm-1", "paused"},
		{"resume vm-1", "resumed"},
		{"snapshot-create-as vm-1 s1", "snapshot s1 created"},
		{"snapshot-list vm-1", "s1"},
		{"reboot vm-1", "is being rebooted"},
		{"dumpxml vm-1", "<name>vm-1</name>"},
		{"dumpxml vm-1", "<memory unit='KiB'>4194304</memory>"},
		{"dumpxml vm-1", "<source file='[ds] vm-1/vm-1.vmdk'/>"},
		{"dumpxml vm-1", "<interface type='bridge'> <mac address='00:50:56:"},
		{"shutdown vm-1", "is being shutdown"},
	} {
		args := append([]string{"-c", "vpx://" + net.JoinHostPort(address, port) + "/dc/c1/h1?no_verify=1"}, strings.Fields(step.command)...)
		if got := strings.Join(strings.Fields(run(t, "virsh", args...)), " "); !strings.Contains(got, step.want) {
			t.Errorf("virsh %s: %q, want %q in it", step.command, got, step.want)
		}
	}
}

// fence_vmware_soap reads the WSDL with suds, which takes some seconds each time.
func TestFenceAgents(t *testing.T) {
	address, port := vcenter(t)
	type step struct{ args, want string }
	for agent, steps := range map[string][]step{
		"fence_vmware_soap": {
			{"list", "vm-1,"},
			{"off -n vm-1", "Success: Powered OFF"},
			{"on -n vm-1", "Success: Powered ON"},
		},
		"fence_vmware_rest": {
			{"list", "vm-1,"},
			{"status -n vm-1", "Status: ON"},
			{"off -n vm-1", "Success: Powered OFF"},
			{"off -n vm-1", "Success: Already OFF"},
			{"on -n vm-1", "Success: Powered ON"},
			{"reboot -n vm-1", "Success: Rebooted"},
			{"monitor", ""},
		},
	} {
		t.Run(agent, func(t *testing.T) {
			path := filepath.Join("/usr/sbin", agent)
			if _, err := os.Stat(path); err != nil {
				t.Skip(agent + " is not installed: apt-get install fence-agents")
			}
			for _, step := range steps {
				args := append([]string{
					"-a", address, "-u", port, "-l", "user@vsphere.local", "-p", "pass", "--ssl-insecure", "-o",
				}, strings.Fields(step.args)...)
				if got := run(t, path, args...); !strings.Contains(got, step.want) {
					t.Errorf("%s %s: %q, want %q in it", agent, step.args, got, step.want)
				}
			}
		})
	}
}
