package migrate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	csi "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// secretWord is in every password of the corpus, and in nothing else.
const secretWord = "hunter"

// optionsOf are what some files of the corpus are converted with.
func optionsOf(t *testing.T, path string) Options {
	t.Helper()
	o := map[string]Options{
		"in-tree-datastore-url":          {DatastoreURLs: map[string]string{"vsanDatastore": "ds:///vmfs/volumes/vsan:52d1/"}, ClusterID: "blue"},
		"in-tree-classes":                {DatastoreURLs: map[string]string{"shared": "ds:///vmfs/volumes/1/", "gold-01": "ds:///vmfs/volumes/2/"}},
		"in-tree-forced":                 {Force: true},
		"in-tree-resourcepool-in-global": {ClusterID: "green"},
	}[strings.TrimSuffix(filepath.Base(path), ".conf")]
	if data, err := os.ReadFile(strings.TrimSuffix(path, ".conf") + ".yaml"); err == nil {
		o.Manifests = []Source{{Name: "manifests.yaml", Data: data}}
	}
	return o
}

// corpus calls f for every file that can be converted.
func corpus(t *testing.T, f func(t *testing.T, path string, data []byte, m *Migration)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.conf")
	if err != nil || len(paths) < 25 {
		t.Fatalf("a corpus of %d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".conf"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Convert(Source{Name: "vsphere.conf", Data: data}, optionsOf(t, path))
			if err != nil {
				t.Fatal(err)
			}
			f(t, path, data, m)
		})
	}
}

func TestGolden(t *testing.T) {
	corpus(t, func(t *testing.T, path string, _ []byte, m *Migration) {
		var b strings.Builder
		for _, f := range m.Files {
			if f.Name != "vsphere.conf" { // it is in the ConfigMap
				fmt.Fprintf(&b, "=== %s\n%s", f.Name, f.Masked())
			}
		}
		golden(t, strings.TrimSuffix(path, ".conf")+".golden", b.String())
	})
}

// Only the files for it have a password, and their masked texts have none.
func TestNoPasswordIsReported(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, _ []byte, m *Migration) {
		var secrets int
		for _, f := range m.Files {
			if bytes.Contains(f.Masked(), []byte(secretWord)) {
				t.Errorf("%s tells a password: %s", f.Name, f.Masked())
			}
			if bytes.Contains(f.Data, []byte(secretWord)) {
				secrets++
				if !f.Secret {
					t.Errorf("%s has a password and is no Secret", f.Name)
				}
			}
		}
		for _, vc := range m.Config.VCenters {
			if vc.Password != "" || vc.User != "" {
				t.Errorf("vCenter %s has credentials of its own", vc.Tenant)
			}
		}
	})
}

// Every line that is neither empty nor a comment is in the report, once. The lines are counted from the bytes of the file.
func TestEveryLineIsReported(t *testing.T) {
	corpus(t, func(t *testing.T, path string, data []byte, m *Migration) {
		sources := append([]Source{{Name: "vsphere.conf", Data: data}}, optionsOf(t, path).Manifests...)
		for _, s := range sources {
			times := map[int]int{}
			for _, l := range m.Report.Lines {
				if l.Verdict == "" || l.What == "" || l.Verdict == Dropped && l.Why == "" || l.Verdict != Dropped && l.Verdict != Kept && len(l.To) == 0 {
					t.Errorf("half told: %+v", l)
				}
				if l.File == s.Name {
					for n := l.Line; n <= l.Last; n++ {
						times[n]++
					}
				}
			}
			lines := strings.Split(strings.ReplaceAll(string(s.Data), "\r\n", "\n"), "\n")
			for i, line := range lines {
				line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF"))
				says := line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") && line != "---"
				if n := times[i+1]; says && n == 0 || s.Name == "vsphere.conf" && says && n != 1 {
					t.Errorf("line %d of %s is told of %d times: %s", i+1, s.Name, n, line)
				}
			}
			for n := range times {
				if n > len(lines) {
					t.Errorf("line %d of %s is told of, and there is none", n, s.Name)
				}
			}
		}
	})
}

// secretsIn are the credentials in the files, by the name of the Secret.
func secretsIn(t *testing.T, files []File) map[config.SecretRef]map[string][]byte {
	t.Helper()
	all := map[config.SecretRef]map[string][]byte{}
	for _, f := range files {
		var m struct {
			Kind       string
			Metadata   struct{ Name, Namespace string }
			StringData map[string]string `yaml:"stringData"`
		}
		if !f.Secret {
			continue
		}
		if !strings.HasPrefix(f.Name, "secret-") { // a token of VMware Cloud can be in no Secret
			continue
		}
		if err := yaml.Unmarshal(f.Data, &m); err != nil || m.Kind != "Secret" || m.Metadata.Namespace == "" {
			t.Fatalf("%s: %v, %+v", f.Name, err, m.Metadata)
		}
		data := map[string][]byte{}
		for k, v := range m.StringData {
			data[k] = []byte(v)
		}
		all[config.SecretRef{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}] = data
	}
	return all
}

// What the provider reads in the new vsphere.conf and its Secrets is what it reads in the old file, but for the vCenters of
// the in-tree provider, which read some of them otherwise: see TestInTreeMeaning.
func TestSameMeaning(t *testing.T) {
	corpus(t, func(t *testing.T, path string, data []byte, m *Migration) {
		old, problems := config.Check("old", data)
		name := strings.TrimSuffix(filepath.Base(path), ".conf")
		if slices.Contains([]string{
			"in-tree-forced", "in-tree-half-secret", "in-tree-other-global-server", "in-tree-resourcepool-in-global", "in-tree-old-form-comma",
			"in-tree-zero-roundtrips",
		}, name) {
			t.Skip("the provider does not read the old file, or reads it otherwise, by design")
		}
		if old == nil {
			t.Fatalf("the provider does not read the old file: %v", problems)
		}
		now, err := config.Load("new", m.Files[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inTreeMeaning(data); err == nil && m.Report.Dialect == InTree {
			old.VCenters, now.VCenters = nil, nil
		}
		secrets := secretsIn(t, m.Files)
		for i, vc := range now.VCenters {
			if s, made := secrets[vc.Secret]; made {
				c, err := config.ParseSecret("secret", s).For(vc.Server)
				if err != nil {
					t.Fatal(err)
				}
				now.VCenters[i].User, now.VCenters[i].Password, now.VCenters[i].Secret = c.User, c.Password, config.SecretRef{}
			}
		}
		if now.NSX != nil && secrets[now.NSX.Secret] != nil {
			if now.NSX.User, now.NSX.Password, err = config.Account(secrets[now.NSX.Secret]); err != nil {
				t.Fatal(err)
			}
			now.NSX.Secret = config.SecretRef{}
		}
		old.Format, old.Warnings, now.Warnings = config.YAML, nil, nil
		if m.Report.Dialect != OutOfTree { // the in-tree provider took addresses from one network
			for l := range bytes.SplitSeq(data, []byte("\n")) {
				if key, value, ok := strings.Cut(string(l), "="); ok && strings.TrimSpace(key) == "public-network" {
					old.Nodes.InternalVMNetwork = strings.Trim(value, " \r\"")
					old.Nodes.ExternalVMNetwork = old.Nodes.InternalVMNetwork
				}
			}
		}
		if d := cmp.Diff(old, now, cmp.Comparer(func(a, b config.Nodes) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); d != "" {
			t.Errorf("(-old +new):\n%s", d)
		}
	})
}

// The driver reads the csi-vsphere.conf in its Secret, unless credentials are lacking, and has the old file's vCenters.
func TestDriverReads(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, _ []byte, m *Migration) {
		var manifest struct {
			StringData map[string]string `yaml:"stringData"`
		}
		for _, f := range m.Files {
			if f.Name == "secret-vsphere-config-secret.yaml" {
				if err := yaml.Unmarshal(f.Data, &manifest); err != nil {
					t.Fatal(err)
				}
			}
		}
		text := manifest.StringData["csi-vsphere.conf"]
		got, problems := csi.Check("csi-vsphere.conf", []byte(text), csi.ReadOptions{ClusterID: "any", BeyondUpstream: true})
		lacking := strings.Contains(text, "# user and password are needed here")
		if (got == nil) != lacking {
			t.Fatalf("%v\n%s", problems, text)
		}
		if lacking {
			for _, p := range problems {
				if !p.Warning && !strings.Contains(p.Message, "credentials are missing") {
					t.Error(p)
				}
			}
			return
		}
		for _, vc := range got.VCenters {
			i := slices.IndexFunc(m.Old.VCenters, func(o config.VCenter) bool { return o.Server == vc.Server })
			if i < 0 {
				t.Errorf("the old file has no vCenter %s", vc.Server)
				continue
			}
			o := m.Old.VCenters[i]
			o.Tenant, o.IPFamilies, o.SOAPRoundtripCount, vc.Tenant, vc.SOAPRoundtripCount = "", nil, 0, "", 0
			if o.Secret != (config.SecretRef{}) { // a manifest had them
				o.Secret, vc.User, vc.Password = config.SecretRef{}, "", ""
			}
			if d := cmp.Diff(o, vc); d != "" {
				t.Errorf("%s (-old +new):\n%s", vc.Server, d)
			}
		}
	})
}

// TestGivenSecret: csi-vsphere.conf gets the credentials of a given Secret, in either form of its data.
func TestGivenSecret(t *testing.T) {
	corpus(t, func(t *testing.T, path string, _ []byte, m *Migration) {
		if filepath.Base(path) != "in-tree-secret-given.conf" {
			return
		}
		i := slices.IndexFunc(m.Files, func(f File) bool { return f.Name == "secret-vsphere-config-secret.yaml" })
		for _, want := range []string{`"hunter2-vcsa"`, `"hunter2-vcsb"`, `user = "k8s@vsphere.local"`} {
			if !bytes.Contains(m.Files[i].Data, []byte(want)) {
				t.Errorf("no %s in %s", want, m.Files[i].Data)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	paths, err := filepath.Glob("testdata/refused/*.conf")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".conf")
		m, err := Convert(Source{Name: "vsphere.conf", Data: data}, Options{})
		if err == nil || m != nil {
			t.Errorf("%s is converted", name)
			continue
		}
		fmt.Fprintf(&b, "=== %s\n%v\n", name, err)
		if r, ok := errors.AsType[*Refusal](err); ok {
			fmt.Fprintf(&b, "%s; try: %s\n", r.Code, r.Try)
		} else if _, ok := errors.AsType[*config.Error](err); !ok {
			t.Errorf("%s: %T", name, err)
		}
	}
	if strings.Contains(b.String(), secretWord) {
		t.Errorf("an error tells a password:\n%s", b.String())
	}
	golden(t, "testdata/refused/errors.golden", b.String())
}

// What cannot be forced is not: a file that is wrong is refused all the same.
func TestForceForgivesOnlyWhatIsUnknown(t *testing.T) {
	forgiven := []string{"unknown-section", "unknown-key", "nsxt", "two-lines", "wrapped-key"}
	paths, _ := filepath.Glob("testdata/refused/*.conf")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".conf")
		_, err = Convert(Source{Name: "vsphere.conf", Data: data}, Options{Force: true})
		if lacks := err != nil && (name == "unknown-section" || name == "unknown-key"); (err == nil) != slices.Contains(forgiven, name) && !lacks {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Noise of a megabyte is refused in no time and few words; more of it is not looked at.
func TestNoise(t *testing.T) {
	for name, line := range map[string]string{
		"words": "lorem ipsum dolor sit amet\n", "keys": "[Global]\nlorem = ipsum\n", "sections": "[lorem]\n", "quotes": "[Global]\nuser = \"\n",
		"brackets": "[[[[\n", "colons": "a: b\n",
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(strings.Repeat(line, MaxSize/len(line)))
			if _, err := Convert(Source{Name: "noise", Data: data}, Options{}); err == nil {
				t.Error("noise is converted")
			}
			if _, err := Convert(Source{Name: "noise", Data: append(data, make([]byte, len(line))...)}, Options{}); err == nil || len(err.Error()) > 200 {
				t.Errorf("more than a megabyte: %v", err)
			}
		})
	}
}

// A file of more vCenters than any has is refused by its name and at once; one of very many, and long values, is not too much.
func TestManyVCenters(t *testing.T) {
	file := func(n int) Source {
		var b strings.Builder
		b.WriteString("[Global]\nuser = u\npassword = p\n")
		for i := range n {
			fmt.Fprintf(&b, "[VirtualCenter \"vc%d.example\"]\n", i)
		}
		return Source{Name: "many", Data: []byte(b.String())}
	}
	if _, err := Convert(file(20_000), Options{}); err == nil || err.Error() != "many: file has sections of 20000 vCenters, and may have 500" {
		t.Error(err)
	}
	if m, err := Convert(file(mostVCenters), Options{}); err != nil || len(m.Config.VCenters) != mostVCenters {
		t.Error(err)
	}
	long := file(mostVCenters)
	long.Data = append(long.Data, "[Global]\nca-file = /"+strings.Repeat("x", 1<<16)+"\n"...)
	if _, err := Convert(long, Options{}); err == nil || !strings.HasPrefix(err.Error(), "the new vsphere.conf: is longer than the 1 MiB") {
		t.Error(err)
	}
}

// Keys that stand again and again fill no memory, in a file that is small too.
func TestRepeatedKeys(t *testing.T) {
	for lines, code := range map[int]string{2: "already-migrated", 1000: "not-a-cloud-config"} {
		_, err := Convert(Source{Name: "f", Data: []byte(strings.Repeat("global: {}\n", lines))}, Options{})
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != code {
			t.Errorf("%d lines: %v", lines, err)
		}
	}
}

// Every key of ours is one of the provider's reader.
func TestKeysAreTheProviders(t *testing.T) {
	for _, s := range sections() {
		for _, k := range s.keys {
			sub := ""
			if s.sub {
				sub = ` "x"`
			}
			_, problems := config.Check("f", fmt.Appendf(nil, "[%s%s]\n%s = 1\n", s.name, sub, k.name))
			unknown := slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Message == "unknown key" })
			if unknown {
				t.Errorf("[%s] %s: the provider does not know it", s.name, k.name)
			}
			if k.judge == nil {
				t.Errorf("[%s] %s has no judge", s.name, k.name)
			}
		}
		if s.judge == nil && s.idle == "" {
			t.Errorf("[%s] has no judge", s.name)
		}
	}
}
