package steps

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

// Releases of upstream that are named where the cluster's own cannot be told.
const (
	newestManager = 36
	driverRelease = "v3.3.1"
)

const managerOwner = "daemonset/vsphere-cloud-controller-manager"

// manager installs the cloud controller manager, with the ConfigMap and the Secret that are there.
func (w *writer) manager() *Step {
	if w.leads() {
		return nil
	}
	release := newestManager
	if v, err := version.ParseGeneric(w.r.Version); err == nil {
		release = min(newestManager, int(v.Minor()))
	}
	dir := w.file("ccm")
	s := &Step{
		ID: "ccm", Title: "Cloud controller manager",
		Why: "It has to be there before the first kubelet waits for it. Until a node is tainted it initializes none, and with SKIP_NODE_DELETION it deletes none.",
		Text: []string{
			"The manifest is upstream's, without the ConfigMap and the Secret in it, which would replace those of the step before.",
			"This project's own cloud controller manager reads the same two: see manifests/ccm.",
		},
		Commands: []Command{
			run("mkdir -p %s", dir),
			run("cat > %s <<'EOF'\n%sEOF", w.file("ccm/kustomization.yaml"), kustomization(release)),
			run("%s", w.kubectl("apply -k %s", dir)),
		},
		Done: []Command{
			run("%s", w.kubectl("--namespace %s rollout status %s --timeout=5m", cloudNamespace, managerOwner)),
			here("a pod of it holds the lease", w.kubectl("--namespace %s get lease cloud-controller-manager -o jsonpath='{.spec.holderIdentity}{\"\\n\"}'", cloudNamespace)),
			here("every vCenter has been let in, no error", w.kubectl("--namespace %s logs %s --tail=50", cloudNamespace, managerOwner)),
		},
		Undo: []Command{run("%s", w.kubectl("delete -k %s", dir))},
	}
	return s
}

// kustomization is upstream's manifest without what is in the cluster already.
func kustomization(release int) string {
	secret := "vsphere-cloud-secret"
	return fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - https://raw.githubusercontent.com/kubernetes/cloud-provider-vsphere/release-1.%[1]d/releases/v1.%[1]d/vsphere-cloud-controller-manager.yaml
patches:
  - patch: |
      apiVersion: v1
      kind: Secret
      metadata: {name: %[2]s, namespace: kube-system}
      $patch: delete
  - patch: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: vsphere-cloud-config, namespace: kube-system}
      $patch: delete
  - patch: |
      apiVersion: apps/v1
      kind: DaemonSet
      metadata: {name: vsphere-cloud-controller-manager, namespace: kube-system}
      spec:
        template:
          spec:
            containers:
              - name: vsphere-cloud-controller-manager
                env:
                  - {name: SKIP_NODE_DELETION, value: "true"}
`, release, secret)
}

// controlPlane takes the in-tree provider off kube-controller-manager.
func (w *writer) controlPlane() *Step {
	found := w.findings("control-plane-flags")
	if len(found) == 0 || w.in.Sandbox != "" {
		return nil
	}
	how := "-e 's/--cloud-provider=vsphere/--cloud-provider=external/' -e '/--cloud-config=/d'"
	if w.both() {
		how = "'s/^\\( *\\)- --cloud-provider=vsphere$/\\1- --cloud-provider=external\\n\\1- --external-cloud-volume-plugin=vsphere/'"
	}
	s := &Step{
		ID: "control-plane", Title: "Flags of the control plane",
		Why: "kube-controller-manager leaves nodes to the cloud controller manager from here on. One node after the other, so that there is always one that leads.",
		Text: []string{
			"Take cloud-provider and cloud-config out of kubeadm's own ClusterConfiguration, too, or the next upgrade brings them back: `" + w.kubectl("--namespace kube-system edit configmap kubeadm-config") + "`.",
		},
		Done: []Command{
			here("--cloud-provider=external, and nowhere vsphere", w.kubectl(`--namespace kube-system get pods -l 'component in (kube-controller-manager,kube-apiserver)' -o yaml | grep -e '- --cloud-'`)),
			run("%s", w.kubectl("get nodes")),
		},
	}
	if w.both() {
		s.Text = append(s.Text, "kube-controller-manager keeps --cloud-config, and the in-tree provider for volumes alone (--external-cloud-volume-plugin), until the last node translates them.")
	}
	if len(w.masters()) == 0 {
		s.Text = append(s.Text, "No node is labeled as one of the control plane: change the flags where kube-controller-manager runs.")
	}
	s.UndoText = "the manifests that were saved:"
	if len(found[0].Objects) == 0 {
		s.Text = append(s.Text, found[0].Found+": look first, and pass this step by where --cloud-provider is not vsphere.")
	}
	for _, n := range w.masters() {
		s.Commands = append(s.Commands,
			edit(n, "kube-controller-manager", how),
			edit(n, "kube-apiserver", "-e '/--cloud-provider=/d' -e '/--cloud-config=/d'"),
			run("%s", w.kubectl("--namespace kube-system wait pod -l component=kube-controller-manager --for=condition=Ready --timeout=5m")))
		for _, part := range []string{"kube-controller-manager", "kube-apiserver"} {
			s.Undo = append(s.Undo, Command{On: n.Name, Run: fmt.Sprintf("sudo cp %s/manifests/%s.yaml /etc/kubernetes/manifests/", saved, part)})
		}
	}
	return s
}

// edit changes a static pod by way of a file beside, which the kubelet does not take for a pod.
func edit(n check.Node, part, how string) Command {
	manifest := "/etc/kubernetes/manifests/" + part + ".yaml"
	return Command{On: n.Name, Run: fmt.Sprintf("sudo sed %s %s | sudo tee /root/%s.yaml > /dev/null && sudo mv /root/%[3]s.yaml %[2]s", how, manifest, part)}
}

// withdraw takes the in-tree provider for volumes off kube-controller-manager.
func (w *writer) withdraw() *Step {
	if !w.both() || w.in.Sandbox != "" {
		return nil
	}
	s := &Step{
		ID: "withdraw", Title: "The in-tree provider for volumes", Why: "Every node translates volumes: nothing is attached by the in-tree provider any more.",
		Done: []Command{
			here("nothing, before it is taken off", w.kubectl(`get nodes -o jsonpath='{.items[*].status.volumesAttached[*].name}' | tr ' ' '\n' | grep ^kubernetes.io/vsphere-volume`)),
			here("nothing, after it", w.kubectl("--namespace kube-system get pods -l component=kube-controller-manager -o yaml | grep external-cloud-volume-plugin")),
		},
		UndoText: "the same file with the two flags in it again.",
	}
	for _, n := range w.masters() {
		s.Commands = append(s.Commands, edit(n, "kube-controller-manager", "-e '/--external-cloud-volume-plugin=/d' -e '/--cloud-config=/d'"))
	}
	return s
}

// driver installs the CSI driver.
func (w *writer) driver() *Step {
	for _, n := range w.r.Nodes {
		if !n.Driver {
			break
		}
		if n.Name == w.r.Nodes[len(w.r.Nodes)-1].Name {
			return nil // it is on all of them
		}
	}
	url := "https://raw.githubusercontent.com/kubernetes-sigs/vsphere-csi-driver/" + driverRelease + "/manifests/vanilla/"
	s := &Step{
		ID: "csi-driver", Title: "CSI driver", Why: "Volumes are its from here on: new ones by its StorageClasses, and those of the in-tree provider once they are translated.",
		Text: []string{
			"The manifests are upstream's. This project's own driver has other names for its Secret: see manifests/csi.",
			"Upstream's controller runs on control plane nodes, three of it: with fewer of them, `" + w.kubectl("--namespace %s scale deployment/vsphere-csi-controller --replicas=1", csiNamespace) + "`.",
			"Its node pods wait until nodes have provider IDs.",
		},
		Commands: []Command{run("%s", w.kubectl("apply -f %svsphere-csi-driver.yaml", url))},
		Done: []Command{
			run("%s", w.kubectl("--namespace %s rollout status deployment/vsphere-csi-controller --timeout=10m", csiNamespace)),
			here("names every node", w.kubectl(`get csinodes -o custom-columns=NODE:.metadata.name,DRIVERS:.spec.drivers[*].name`)),
			run("%s", w.kubectl("get csidriver %s", names.Driver)),
		},
		Undo:     []Command{run("%s", w.kubectl("delete -f %svsphere-csi-driver.yaml", url))},
		UndoText: "only as long as no volume is the driver's, none of a new class and none translated:",
	}
	if w.disks() {
		flag := `{"data":{"csi-migration":"true"}}`
		s.Commands = append(s.Commands,
			here("it takes over volumes of the in-tree provider", w.kubectl("--namespace %s patch configmap internal-feature-states.csi.vsphere.vmware.com --type merge -p '%s'", csiNamespace, flag)),
			run("%s", w.kubectl("--namespace %s rollout restart deployment/vsphere-csi-controller", csiNamespace)))
	}
	return s
}

const migrationGates = "CSIMigration=true,CSIMigrationvSphere=true"

// gates has the control plane of an older Kubernetes translate volumes.
func (w *writer) gates() *Step {
	if !w.disks() || !w.older("1.25") {
		return nil
	}
	s := &Step{
		ID: "gates", Title: "Translation of volumes in the control plane",
		Why:      w.r.Version + " translates volumes only where it is told to. The control plane has to be told first: kubelets that translate, and a control plane that does not, leave volumes detached.",
		Text:     []string{"Where there is a --feature-gates already, add to it by hand."},
		Done:     []Command{run("%s", w.kubectl("--namespace kube-system get pods -l component=kube-controller-manager -o yaml | grep feature-gates"))},
		UndoText: "only before a kubelet translates.",
	}
	for _, n := range w.masters() {
		s.Commands = append(s.Commands, edit(n, "kube-controller-manager", "'s/^\\( *\\)- kube-controller-manager$/&\\n\\1- --feature-gates="+migrationGates+"/'"))
		s.Undo = append(s.Undo, edit(n, "kube-controller-manager", "'/--feature-gates="+migrationGates+"/d'"))
	}
	s.Commands = append(s.Commands, run("%s", w.kubectl("--namespace kube-system wait pod -l component=kube-controller-manager --for=condition=Ready --timeout=5m")))
	return s
}

// joined is a list in a sentence.
func joined(all []string) string { return strings.Join(all, ", ") }
