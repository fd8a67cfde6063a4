package verbs

import (
	"slices"
	"strings"
	"testing"
)

// Every command of the table is allowed, with each of its flags, and stops being so with anything else beside it.
func TestEachEntryAndItsNeighbors(t *testing.T) {
	for name, p := range programs() {
		for _, v := range p.verbs {
			command := append([]string{name}, strings.Fields(v.words)...)
			allowed := func(more ...string) {
				t.Helper()
				expect(t, append(slices.Clip(command), more...), true)
			}
			refused := func(more ...string) {
				t.Helper()
				expect(t, append(slices.Clip(command), more...), false)
			}
			allowed()
			for flag := range strings.FieldsSeq(v.switches) {
				allowed(dashed(p, flag))
				refused(dashed(p, flag), "--kubeconfig=evil.yaml")
			}
			for flag := range strings.FieldsSeq(v.values) {
				value := "x"
				if !p.single && (flag == "o" || flag == "output") {
					value = "json"
				}
				allowed(dashed(p, flag), value)
				refused(dashed(p, flag))
				refused(dashed(p, flag), "--kubeconfig=evil.yaml")
				refused(dashed(p, flag), value, "-")
			}
			for _, bad := range []string{
				"--kubeconfig=evil.yaml", "--kubeconfig", "-f", "--filename=https://evil", "-k", "--server=https://evil", "-s=https://evil", "--token=x", "--context=x",
				"--cache-dir=/tmp/x", "--profile-output=x", "--profile=cpu", "--force", "--name=other", "--name", "--raw=/x", "--template=x", "-w", "--watch",
				"--follow", "-u", "-cert=x", "-key=x", "-persist-session=true", "-trace", "-debug", "-dump", "--", "-", "--output-directory=x", "--plugin=x", "-v=9", "-o=jsonpath-file=/etc/shadow",
				"--output=go-template-file=/etc/shadow", "-ocustom-columns-file=/etc/shadow", "-R", "--yes",
			} {
				switch name + " " + v.words + " " + bad {
				case "govc datastore.ls -R", "govc find --name=other", "govc find --name", "kubectl logs -cert=x": // recursively, a VM's name, and -c ert=x
					continue
				}
				refused(bad)
				refused(bad, "x")
				expect(t, append([]string{name, bad}, command[1:]...), false)
			}
			if v.bare {
				refused("x")
			} else {
				allowed("x", "y")
			}
		}
	}
}

func dashed(p program, flag string) string {
	if p.single || len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

func expect(t *testing.T, argv []string, reads bool) {
	t.Helper()
	if why := Effects(argv); (why == "") != reads {
		t.Errorf("%q: reads is %v, want %v (%s)", argv, why == "", reads, why)
	}
}

func TestBeyond(t *testing.T) {
	for line, want := range map[string]string{
		"kubectl get nodes":                                              "",
		"kubectl -n kube-system get configmap x":                         "",
		"kubectl get pods -A --show-labels -ojson":                       "",
		"kubectl get pods -o jsonpath={.items[*].spec}":                  "",
		"kubectl logs web --tail=-1 -p":                                  "",
		"kubectl auth can-i delete nodes --as=system:serviceaccount:a:b": "",
		"vsphere-sandbox kubectl get nodes":                              "",
		"vsphere-sandbox govc --vcenter us ls":                           "",
		"govc --vcenter us device.info -dc dcwest -vm w1 disk-1":         "",
		"govc vm.info -json=true w1":                                     "",
		"vsphere-sandbox get nodes -o wide":                              "",
		"vsphere-sandbox events --since 5m":                              "",
		"kubectl --kubeconfig evil.yaml get ns":                          "runs kubectl --kubeconfig with a kubeconfig that the scenario names, which may start programs and is of another cluster",
		"kubectl get ns --kubeconfig=evil.yaml":                          "runs kubectl get with a kubeconfig that the scenario names, which may start programs and is of another cluster",
		"kubectl delete pod x --force":                                   "runs kubectl delete with --force",
		"kubectl apply -f -":                                             "runs kubectl apply, which is not known to only read",
		"kubectl cp a:/x /y":                                             "runs kubectl cp, which is not known to only read",
		"kubectl cluster-info dump":                                      "runs kubectl cluster-info, which is not known to only read",
		"kubectl auth reconcile -f x":                                    "runs kubectl auth, which is not known to only read",
		"kubectl rollout restart deployment x":                           "runs kubectl rollout, which is not known to only read",
		"kubectl --all-namespaces get apply":                             "runs kubectl --all-namespaces, which is not known to only read",
		"kubectl -A get apply":                                           "runs kubectl -A, which is not known to only read",
		"kubectl plugin list":                                            "runs kubectl plugin, which is not known to only read",
		"kubectl GET nodes":                                              "runs kubectl GET, which is not known to only read",
		"kubectl get nodes -Aw":                                          "runs kubectl get, which is not known to only read",
		"kubectl":                                                        "runs kubectl, which is not known to only read",
		"vsphere-sandbox kubectl --kubeconfig=x get ns":                  "runs kubectl --kubeconfig=x with a kubeconfig that the scenario names, which may start programs and is of another cluster",
		"vsphere-sandbox vsphere-sandbox get nodes":                      "runs vsphere-sandbox vsphere-sandbox, which is not known to only read",
		"vsphere-sandbox events export /home/x/.bashrc --force":          "runs vsphere-sandbox events export, which writes a file",
		"vsphere-sandbox events export /home/x/.bashrc":                  "runs vsphere-sandbox events export, which writes a file",
		"vsphere-sandbox down --name victim":                             "runs vsphere-sandbox down on another sandbox",
		"vsphere-sandbox --name victim status":                           "runs vsphere-sandbox --name on another sandbox",
		"vsphere-sandbox --name=victim down":                             "runs vsphere-sandbox --name=victim on another sandbox",
		"vsphere-sandbox ccm swap ./evil":                                "runs vsphere-sandbox ccm swap, which may start a program",
		"vsphere-sandbox get kubeconfig":                                 "runs vsphere-sandbox get, which is not known to only read",
		"vsphere-sandbox get nodes -w":                                   "runs vsphere-sandbox get, which is not known to only read",
		"vsphere-sandbox list":                                           "runs vsphere-sandbox list, which is not known to only read",
		"vsphere-sandbox doctor --bundle x":                              "runs vsphere-sandbox doctor, which is not known to only read",
		"govc datastore.upload x y":                                      "runs govc datastore.upload, which is not known to only read",
		"govc disk.ls -R":                                                "runs govc disk.ls, which is not known to only read",
		"govc object.collect -":                                          "runs govc object.collect, which is not known to only read",
		"govc ls -u evil.example.com":                                    "runs govc ls, which is not known to only read",
		"rm -rf /":                                                       "runs the program rm",
	} {
		if got := Effects(strings.Fields(line)); got != want {
			t.Errorf("%s:\n got %q\nwant %q", line, got, want)
		}
	}
}
