package migrate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

const smallest = "[Global]\nuser = u@d\npassword = hunter2\n[VirtualCenter \"vc\"]\ndatacenters = dc\n"

func workspace(datastore string) string {
	return smallest + "[Workspace]\nserver = vc\ndatacenter = dc\nfolder = f\ndefault-datastore = " + datastore + "\n"
}

func classOf(lines string) string {
	return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: c}\nprovisioner: kubernetes.io/vsphere-volume\n" + lines
}

// file returns the text of a new file, or "".
func file(m *Migration, name string) string {
	if i := slices.IndexFunc(m.Files, func(f File) bool { return f.Name == name }); i >= 0 {
		return string(m.Files[i].Data)
	}
	return ""
}

func TestClasses(t *testing.T) {
	const head = "# StorageClasses of the CSI driver.\n# Written by vsphere-sandbox migrate config.\n"
	const made = head + "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: c\nprovisioner: csi.vsphere.vmware.com\n"
	zones := "[Labels]\nregion = r\nzone = z\n"
	const beta = "storageclass.beta.kubernetes.io/is-default-class: "
	defaultClassOf := func(annotations string) string {
		return strings.Replace(classOf(""), "{name: c}", "\n  name: c\n  annotations: {"+annotations, 1)
	}
	const defaultClass = head + "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: c\n  annotations:\n    storageclass.kubernetes.io/is-default-class: 'true'\nprovisioner: csi.vsphere.vmware.com\n"
	for name, tc := range map[string]struct {
		old, class string
		urls       map[string]string
		force      bool
		want       string
		problems   string
	}{
		"no default, no class":             {old: smallest},
		"a default":                        {old: workspace("ds"), urls: map[string]string{"ds": "ds:///1/"}, want: head + "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: vsphere\nprovisioner: csi.vsphere.vmware.com\nparameters:\n  datastoreurl: ds:///1/\n"},
		"a default, zones":                 {old: workspace("ds") + zones, want: head + "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: vsphere\nprovisioner: csi.vsphere.vmware.com\nvolumeBindingMode: WaitForFirstConsumer\n"},
		"a class takes the default":        {old: workspace("ds"), class: classOf(""), urls: map[string]string{"ds": "ds:///1/"}, want: made + "parameters:\n  datastoreurl: ds:///1/\n"},
		"a class has another":              {old: workspace("ds"), class: classOf("parameters: {DataStore: other}\n"), urls: map[string]string{"other": "ds:///2/"}, want: made + "parameters:\n  datastoreurl: ds:///2/\n"},
		"a class has a policy":             {old: workspace("ds"), class: classOf("parameters: {storagepolicyname: Gold}\n"), want: made + "parameters:\n  storagepolicyname: Gold\n"},
		"a URL that nothing asks for":      {old: workspace("ds"), class: classOf("parameters: {datastore: othe}\n"), urls: map[string]string{"other": "ds:///2/"}, problems: "datastore URLs: other: neither the file nor a StorageClass names this datastore, did you mean othe?"},
		"a URL that is none":               {old: workspace("ds"), urls: map[string]string{"ds": "/vmfs/volumes"}, problems: "datastore URLs: ds: the URL of a datastore begins with ds:///"},
		"an unknown parameter":             {old: smallest, class: classOf("parameters: {diskformt: thin}\n"), problems: "m.yaml:5: StorageClass c parameters.diskformt: unknown parameter, did you mean diskformat?"},
		"an unknown parameter, forced":     {old: smallest, class: classOf("parameters: {diskformt: thin}\n"), force: true, want: made + "parameters: {}\n"},
		"an unknown field":                 {old: smallest, class: classOf("reclaimpolicy: Retain\n"), problems: "m.yaml:5: StorageClass c reclaimpolicy: unknown field, did you mean reclaimPolicy?"},
		"zones, and no categories":         {old: smallest, class: classOf("allowedTopologies: []\n"), problems: "m.yaml:5: StorageClass c allowedTopologies: volumes were kept to zones, and the file names no tag categories of them, set region and zone under [Labels]"},
		"zones, and no categories, forced": {old: smallest, class: classOf("allowedTopologies: []\n"), force: true, want: made},
		"zones by another label":           {old: smallest + zones, class: classOf("allowedTopologies:\n- matchLabelExpressions:\n  - key: rack\n    values: [a]\n"), problems: `m.yaml:7: StorageClass c allowedTopologies: "rack" is not the label of a region or a zone`},
		"an API that is none":              {old: smallest, class: strings.Replace(classOf(""), "/v1", "/v2", 1), problems: "m.yaml:1: StorageClass c apiVersion: is not that of a StorageClass, write storage.k8s.io/v1"},
		"no name":                          {old: smallest, class: strings.Replace(classOf(""), "{name: c}", "{}", 1), problems: "m.yaml:1: StorageClass: has no name"},
		"a class twice":                    {old: smallest, class: classOf("") + "---\n" + classOf(""), problems: "m.yaml:6: StorageClass c: stands twice"},
		"a parameter by two names":         {old: smallest, class: classOf("parameters: {fsType: ext4, csi.storage.k8s.io/fstype: xfs}\n"), problems: "m.yaml:5: StorageClass c parameters.csi.storage.k8s.io/fstype: is set already, by another name"},
		"a datastore by two names":         {old: smallest, class: classOf("parameters: {datastore: a, DataStore: b}\n"), urls: map[string]string{"a": "ds:///1/", "b": "ds:///2/"}, problems: "m.yaml:5: StorageClass c parameters.DataStore: is set already, by another name\ndatastore URLs: b: neither the file nor a StorageClass names this datastore"},
		"a key twice":                      {old: smallest, class: classOf("reclaimPolicy: Retain\nreclaimPolicy: Delete\n"), problems: "m.yaml:6: StorageClass c reclaimPolicy: is set already, in line 5"},
		"the default class":                {old: smallest, class: defaultClassOf(beta + "'true'}"), want: defaultClass},
		"the default class, twice":         {old: smallest, class: defaultClassOf(beta + "'true', " + isDefault + ": 'true'}"), want: defaultClass},
		"the default class, and not":       {old: smallest, class: defaultClassOf(beta + "'true', " + isDefault + ": 'false'}"), problems: "m.yaml:5: StorageClass c metadata.annotations.storageclass.beta.kubernetes.io/is-default-class: says otherwise than " + isDefault},
		"an anchor on a line of its own":   {old: smallest, class: "--- &a\n!!map\n" + classOf(""), want: made},
		"an alias":                         {old: smallest, class: classOf("mountOptions: &m [noatime]\nx: *m\n"), force: true, want: made + "mountOptions: [noatime]\n"},
		"no manifest":                      {old: smallest, class: "---\n# nothing\n", problems: "m.yaml: holds no manifest"},
		"no kind":                          {old: smallest, class: "\na: b\n", problems: "m.yaml:2: is not a manifest: it has no kind"},
		"no YAML":                          {old: smallest, class: "kind: Secret\nstringData: {password: hunter2\n", problems: "m.yaml: is not YAML, give what kubectl get -o yaml writes"},
		"aliases without end": {
			old: smallest, class: "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
			problems: "m.yaml: has aliases that grow without end",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{DatastoreURLs: tc.urls, Force: tc.force}
			if tc.class != "" {
				o.Manifests = []Source{{"m.yaml", []byte(tc.class)}}
			}
			m, err := Convert(Source{"vsphere.conf", []byte(tc.old)}, o)
			if tc.problems != "" {
				if err == nil || err.Error() != tc.problems {
					t.Errorf("%v, want %s", err, tc.problems)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, file(m, "storageclasses.yaml")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSecretManifests: a Secret fills in the vCenters that name it, by name alone if it has no namespace; otherwise the report
// has the reason.
func TestSecretManifests(t *testing.T) {
	const old = "[Global]\nsecret-name = s\nsecret-namespace = n\n[VirtualCenter \"vc\"]\ndatacenters = dc\n"
	const data = "stringData: {vc.username: u@d, vc.password: hunter2}\n"
	for name, tc := range map[string]struct {
		manifest string
		helps    bool
		why      string
	}{
		"the one":           {"kind: Secret\nmetadata: {name: s, namespace: n}\n" + data, true, "stays as it is; the CSI driver has the credentials in its own file"},
		"no namespace":      {"kind: Secret\nmetadata: {name: s}\n" + data, true, "stays as it is; the CSI driver has the credentials in its own file"},
		"another namespace": {"kind: Secret\nmetadata: {name: s, namespace: m}\n" + data, false, "is left alone: the file names no such Secret"},
		"another server":    {"kind: Secret\nmetadata: {name: s}\nstringData: {vd.username: u@d, vd.password: hunter2}\n", false, "stays as it is; it has no credentials of vc"},
		"no data":           {"kind: Secret\nmetadata: {name: s}\ndata: {vc.username: '!', vc.password: 7}\n", false, "stays as it is; it has no credentials of vc"},
		"a shared session":  {"kind: Secret\nmetadata: {name: s}\nstringData: {vc.vc-session-manager-url: 'https://x'}\n", false, "stays as it is; a session that is shared is nothing that csi-vsphere.conf can name"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Convert(Source{"vsphere.conf", []byte(old)}, Options{Manifests: []Source{{"m.yaml", []byte(tc.manifest)}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(file(m, "secret-vsphere-config-secret.yaml"), "hunter2"); got != tc.helps {
				t.Errorf("csi-vsphere.conf has the credentials: %v", got)
			}
			last := m.Report.Lines[len(m.Report.Lines)-1]
			if d := cmp.Diff(tc.why, last.Why); d != "" || last.File != "m.yaml" {
				t.Errorf("%+v", last)
			}
			if strings.Contains(m.Report.Text(), "hunter2") {
				t.Error("the report has a password")
			}
		})
	}
}

// TestSecretNames: no Secret's name is used twice, and a tenant may have any name.
func TestSecretNames(t *testing.T) {
	old := "[Global]\nuser = u@d\npassword = hunter2\n" +
		"[VirtualCenter \"a b\"]\nserver = vc1\n[VirtualCenter \"A_B\"]\nserver = vc2\n[VirtualCenter \"--\"]\nserver = vc3\n" +
		"[VirtualCenter \"d\"]\nserver = vc4\nsecret-name = vsphere-cloud-secret\nsecret-namespace = kube-system\n"
	m, err := Convert(Source{"vsphere.conf", []byte(old)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, vc := range m.Config.VCenters {
		got[vc.Tenant] = vc.Secret.Name
	}
	want := map[string]string{"a b": "vsphere-cloud-secret-a-b-2", "A_B": "vsphere-cloud-secret-a-b", "--": "vsphere-cloud-secret-2", "d": "vsphere-cloud-secret"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestClusterID(t *testing.T) {
	for name, tc := range map[string]struct{ old, asked, want, problem string }{
		"none":  {old: smallest},
		"asked": {old: smallest, asked: "blue", want: "    [Global]\n    cluster-id = \"blue\"\n"},
		"file":  {old: strings.Replace(smallest, "[Global]", "[Global]\ncluster-id = \"red\"", 1), want: "    [Global]\n    cluster-id = \"red\"\n"},
		"long":  {old: smallest, asked: strings.Repeat("x", 65), problem: "the new csi-vsphere.conf:4: [Global] cluster-id: is longer than 64 characters"},
	} {
		m, err := Convert(Source{"vsphere.conf", []byte(tc.old)}, Options{ClusterID: tc.asked})
		if tc.problem != "" {
			if _, ok := errors.AsType[*config.Error](err); !ok || err.Error() != tc.problem {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := file(m, "secret-vsphere-config-secret.yaml")
		if tc.want == "" && strings.Contains(got, "cluster-id") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
