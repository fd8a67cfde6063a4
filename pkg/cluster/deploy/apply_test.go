package deploy

import (
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOwnCCM(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1"}); err != nil {
		t.Fatal(err)
	}
	set := r.get(t, apps("DaemonSet"), "kube-system", ccmName)
	if set == nil {
		t.Fatalf("no DaemonSet: %q", r.did)
	}
	data, _, _ := unstructured.NestedStringMap(r.get(t, core("ConfigMap"), "kube-system", "vsphere-cloud-config").Object, "data")
	want := map[string]string{"vsphere.conf": "ca /etc/cloud/vcenter-ca.crt secret kube-system/vsphere-cloud-secret", "vcenter-ca.crt": "PEM"}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Error(diff)
	}
	secret, _, _ := unstructured.NestedStringMap(r.get(t, core("Secret"), "kube-system", "vsphere-cloud-secret").Object, "data")
	if got, _ := base64.StdEncoding.DecodeString(secret["10.0.0.1.password"]); string(got) != "hush" || len(secret) != 2 {
		t.Errorf("the Secret is %v", secret)
	}
	// What pods read is there before they are.
	index := func(what string) int { return slices.Index(r.did, what) }
	if c, s := index("create configmaps kube-system/vsphere-cloud-config"), index("patch daemonsets kube-system/"+ccmName); c < 0 || s < c {
		t.Errorf("order: %q", r.did)
	}
}

// With NSX our own cloud controller manager has a second Secret, and the rights that it is given: not another project's, whose configuration
// has the account. Both go with it; a new configuration without the account leaves the Secret as it is.
func TestNSX(t *testing.T) {
	r := newRig(t, Options{})
	c := conf()
	c.NSX = map[string][]byte{"username": []byte("ccm"), "password": []byte("hush")}
	rights := []runtime.Object{&rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: "of-nsx"},
	}}
	role := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	has := func() bool {
		o := r.get(t, core("Secret"), "kube-system", NSXSecret)
		if o == nil {
			return false
		}
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		password, _ := base64.StdEncoding.DecodeString(data["password"])
		return len(data) == 2 && string(password) == "hush" && o.GetLabels()[ManagedByLabel] == ManagedBy
	}
	for _, step := range []struct {
		what string
		do   func() error
		want bool
	}{
		{"our own", func() error { return r.CCM(t.Context(), CCM{Config: c, Image: "localhost/ccm:1", Rights: rights}) }, true},
		{"configured", func() error { return r.Configure(t.Context(), conf()) }, true},
		{"another project's", func() error { return r.CCM(t.Context(), CCM{Config: c, Manifest: []byte(release)}) }, false},
		{"our own again", func() error { return r.CCM(t.Context(), CCM{Config: c, Image: "localhost/ccm:1", Rights: rights}) }, true},
		{"without NSX", func() error { return r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1"}) }, false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		right := r.get(t, role, "", "of-nsx") != nil
		if theirs := r.get(t, core("Secret"), "clouds", NSXSecret); has() != step.want || right != step.want || theirs != nil {
			t.Errorf("%s: Secret %t, rights %t, want %t; Secret of another project %v", step.what, has(), right, step.want, theirs)
		}
	}
}

// Another configuration takes the place of the first, with nothing left of it.
func TestConfigure(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.Configure(t.Context(), conf()); err == nil {
		t.Error("what was never deployed is configured")
	}
	if err := r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1"}); err != nil {
		t.Fatal(err)
	}
	c := conf()
	c.CA, c.Secret = nil, map[string][]byte{"b.username": []byte("x")}
	if err := r.Configure(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for kind, name := range map[string]string{"ConfigMap": "vsphere-cloud-config", "Secret": "vsphere-cloud-secret"} {
		data, _, _ := unstructured.NestedMap(r.get(t, core(kind), "kube-system", name).Object, "data")
		if len(data) != 1 {
			t.Errorf("%s: %v", kind, data)
		}
	}
}

// A release manifest: nothing in it changes but labels of objects and the contents that it gives as examples.
const release = `# a comment
---
apiVersion: v1
kind: Secret
metadata: {name: secret-of-theirs, namespace: clouds}
stringData: {10.0.0.1.username: "<ENTER>"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config-of-theirs, namespace: clouds, labels: {theirs: "yes"}}
data: {vsphere.yaml: "an example", other: "example"}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: vsphere-cloud-controller-manager, namespace: clouds}
spec:
  selector: {matchLabels: {name: theirs}}
  template:
    metadata: {labels: {name: theirs}}
    spec:
      containers:
      - name: main
        image: registry.example.net/cpi:v1
        args: [--cloud-provider=vsphere, --cloud-config=/etc/there/vsphere.yaml]
        volumeMounts: [{name: config, mountPath: /etc/there/, readOnly: true}]
      volumes: [{name: config, configMap: {name: config-of-theirs}}]
`

func TestManifestIsAppliedAsItIs(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte(release)}); err != nil {
		t.Fatal(err)
	}
	set := r.get(t, apps("DaemonSet"), "clouds", ccmName)
	given, err := parse("release", []byte(release))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given[2].Object["spec"], set.Object["spec"]); diff != "" {
		t.Errorf("the DaemonSet is another (-given +applied):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{ManagedByLabel: ManagedBy, partLabel: partCCM}, set.GetLabels()); diff != "" {
		t.Error(diff)
	}
	config := r.get(t, core("ConfigMap"), "clouds", "config-of-theirs")
	data, _, _ := unstructured.NestedStringMap(config.Object, "data")
	want := map[string]string{"vsphere.yaml": "ca /etc/there/vcenter-ca.crt secret clouds/secret-of-theirs", "vcenter-ca.crt": "PEM"}
	if diff := cmp.Diff(want, data); diff != "" || config.GetLabels()["theirs"] != "yes" {
		t.Error(diff, config.GetLabels())
	}
	secret := r.get(t, core("Secret"), "clouds", "secret-of-theirs")
	if keys, _, _ := unstructured.NestedMap(secret.Object, "data"); len(keys) != 2 || secret.Object["stringData"] != nil {
		t.Errorf("the Secret is %v", secret.Object)
	}
}

// Of several containers of a manifest one is the cloud controller manager: the one that reads its configuration.
func TestCCMImage(t *testing.T) {
	const beside = `      initContainers: [{name: first, image: registry.example.net/first:v1}]
      containers:
      - {name: beside, image: registry.example.net/beside:v1}
`
	for name, manifest := range map[string]string{
		"alone":          release,
		"one of several": strings.Replace(release, "      containers:\n", beside, 1),
	} {
		if got, err := CCMImage([]byte(manifest)); err != nil || got != "registry.example.net/cpi:v1" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := CCMImage([]byte(strings.ReplaceAll(release, "/etc/there/,", "/etc/elsewhere,"))); err == nil {
		t.Errorf("of none that reads a configuration: %q", got)
	}
}

// What was there for the one is gone when the other comes, the pods that it selects first.
func TestSwap(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1", Replicas: 2}); err != nil {
		t.Fatal(err)
	}
	if r.get(t, apps("DaemonSet"), "kube-system", ccmName+"-2") == nil {
		t.Fatalf("no second: %q", r.did)
	}
	if err := r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte(strings.ReplaceAll(release, "clouds", "kube-system"))}); err != nil {
		t.Fatal(err)
	}
	if set := r.get(t, apps("DaemonSet"), "kube-system", ccmName); selects(set)["name"] != "theirs" || len(selects(set)) != 1 {
		t.Errorf("it selects %v", selects(set))
	}
	if r.get(t, apps("DaemonSet"), "kube-system", ccmName+"-2") != nil || r.get(t, core("ConfigMap"), "kube-system", "vsphere-cloud-config") != nil {
		t.Errorf("something of the first is left: %q", r.did)
	}
	deleted, applied := slices.Index(r.did, "delete daemonsets kube-system/"+ccmName), slices.Index(r.did, "patch daemonsets kube-system/"+ccmName)
	if deleted < applied || deleted < 0 {
		t.Errorf("order: %q", r.did)
	}
	if err := r.Scale(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "manifest sets the number") {
		t.Errorf("scale: %v", err)
	}
}

func TestScale(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.CCM(t.Context(), CCM{Config: conf(), Image: "localhost/ccm:1"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, 1} {
		if err := r.Scale(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		list, err := r.marked(t.Context(), apps("DaemonSet"), partCCM)
		if err != nil || len(list) != n {
			t.Errorf("%d of %d, %v", len(list), n, err)
		}
	}
	if err := r.Scale(t.Context(), 10); err == nil {
		t.Error("ten are too many")
	}
}

// Nothing that others have made is touched, and nothing else is applied then.
func TestNotOurs(t *testing.T) {
	theirs := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: ccmName, Namespace: "kube-system"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vsphere-cloud-secret", Namespace: "kube-system"}}
	for _, c := range []CCM{
		{Config: conf(), Image: "localhost/ccm:1"},
		{Config: conf(), Manifest: []byte(strings.NewReplacer("clouds", "kube-system", "secret-of-theirs", "vsphere-cloud-secret").Replace(release))},
	} {
		r := newRig(t, Options{}, theirs, secret)
		err := r.CCM(t.Context(), c)
		foreign := (*NotOwnedError)(nil)
		if !errors.As(err, &foreign) || !slices.Contains(foreign.Objects, "daemonset kube-system/"+ccmName) || !slices.Contains(foreign.Objects, "secret kube-system/vsphere-cloud-secret") {
			t.Errorf("error is %v", err)
		}
		if len(r.did) > 0 {
			t.Errorf("it did %q", r.did)
		}
	}
}

func TestOwnCSI(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.CSI(t.Context(), CSI{Config: conf(), Image: "localhost/csi:1", Sidecars: "localhost/s:1"}); err != nil {
		t.Fatal(err)
	}
	first := r.did[0]
	if first != "patch namespaces vmware-system-csi" {
		t.Errorf("it begins with %s", first)
	}
	if last := r.did[len(r.did)-1]; last != "patch volumesnapshotclasses vsphere" {
		t.Errorf("it ends with %s", last)
	}
	if r.get(t, apps("Deployment"), "vmware-system-csi", "vsphere-csi-controller") == nil {
		t.Error("no controller")
	}
	conf, _, _ := unstructured.NestedString(r.get(t, core("ConfigMap"), "vmware-system-csi", "vsphere-csi-config").Object, "data", "vsphere.conf")
	if conf != "ca /etc/cloud/vcenter-ca.crt secret vmware-system-csi/vsphere-csi-secret" {
		t.Error(conf)
	}
}

// Definitions that the cluster has already are used as they are: another driver's snapshots depend on them.
func TestDefinitionsAreShared(t *testing.T) {
	crd := bare("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "volumesnapshots.snapshot.storage.k8s.io")
	r := newRig(t, Options{}, crd)
	if err := r.CSI(t.Context(), CSI{Config: conf(), Image: "localhost/csi:1", Sidecars: "localhost/s:1"}); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(r.did, "patch customresourcedefinitions "+crd.GetName()) {
		t.Error("it was applied all the same")
	}
	if !slices.Contains(r.did, "patch customresourcedefinitions csinodetopologies.cns.vmware.com") {
		t.Errorf("the others were not: %q", r.did)
	}
}

func TestRefusedOptions(t *testing.T) {
	r := newRig(t, Options{})
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"no image":       {r.CCM(t.Context(), CCM{Config: conf()}), "neither an image nor a manifest"},
		"no conf":        {r.CCM(t.Context(), CCM{Image: "x"}), "no configuration"},
		"manifest scale": {r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte(release), Replicas: 2}), "unchanged"},
		"no pods":        {r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")}), "no container reads"},
		"no way back":    {r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte(release + "---\napiVersion: x.io/v1\nkind: Odd\nmetadata: {name: a}\n")}), "cannot remove a Odd.x.io"},
		"no yaml":        {r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte("a: [")}), "document 1"},
		"no object":      {r.CCM(t.Context(), CCM{Config: conf(), Manifest: []byte("a: b")}), "no object of Kubernetes"},
		"backend":        {r.CSI(t.Context(), CSI{Config: conf(), Image: "x", Sidecars: "y", Backend: "tape"}), "tape"},
		"no folder":      {r.CSI(t.Context(), CSI{Config: conf(), Image: "x", Sidecars: "y", Backend: BackendDir}), "volumes directory"},
		"no sidecars":    {r.CSI(t.Context(), CSI{Config: conf(), Image: "x"}), "sidecars"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, tc.err, tc.want)
		}
	}
	if len(r.did) > 0 {
		t.Errorf("it did %q", r.did)
	}
}

func TestServiceName(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"us", "us-west-1", "US", "us_west", "us.west", "1st", "-", "", "ünï", "vc 1", strings.Repeat("x", 70), strings.Repeat("x", 71), "a-"} {
		got := serviceName(name)
		if len(got) > 63 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || got[0] < 'a' || strings.HasSuffix(got, "-") || seen[got] {
			t.Errorf("%q: %q", name, got)
		}
		seen[got] = true
	}
	if ServiceDNS("us") != "us.vsphere-sandbox.svc" {
		t.Error(ServiceDNS("us"))
	}
}

func TestVCenters(t *testing.T) {
	r := newRig(t, Options{}, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "us", Namespace: Namespace, Labels: map[string]string{ManagedByLabel: ManagedBy, partLabel: partVC}},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.7"},
	}, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: Namespace, Labels: map[string]string{ManagedByLabel: ManagedBy, partLabel: partVC}},
	})
	reached, err := r.VCenters(t.Context(), []Endpoint{{Name: "us", Addr: netip.MustParseAddrPort("172.18.0.1:8989"), IP: netip.MustParseAddr("10.96.0.7")}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]PodEndpoint{{Name: "us", Host: "10.96.0.7", Port: 443, DNS: "us.vsphere-sandbox.svc"}}, reached); diff != "" {
		t.Error(diff)
	}
	if slices.Contains(r.did, "delete services vsphere-sandbox/us") || !slices.Contains(r.did, "delete services vsphere-sandbox/old") {
		t.Errorf("it did %q", r.did)
	}
	// Another address is another Service: the first fake has no address to allocate, so a second Service is requested.
	if _, err := r.VCenters(t.Context(), []Endpoint{{Name: "us", Addr: netip.MustParseAddrPort("[fd00::1]:8989"), IP: netip.MustParseAddr("fd00::7")}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(r.did, "delete services vsphere-sandbox/us") {
		t.Errorf("it did %q", r.did)
	}
	for _, e := range []Endpoint{
		{Name: "a", Addr: netip.MustParseAddrPort("127.0.0.1:8989")}, {Name: "a"}, {Addr: netip.MustParseAddrPort("1.1.1.1:1")},
	} {
		if _, err := r.VCenters(t.Context(), []Endpoint{e}); err == nil {
			t.Errorf("%+v is taken", e)
		}
	}
	twice := Endpoint{Name: "a", Addr: netip.MustParseAddrPort("1.1.1.1:1")}
	if _, err := r.VCenters(t.Context(), []Endpoint{twice, twice}); err == nil {
		t.Error("two of one name are taken")
	}
}
