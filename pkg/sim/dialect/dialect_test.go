package dialect

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

func TestElements(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"none", `<a><b>1</b></a>`, `<a><b>1</b></a>`},
		{
			"references", `<val xsi:type="ArrayOfManagedObjectReference"><ManagedObjectReference type="Datacenter">datacenter-1</ManagedObjectReference></val><x>1</x>`,
			`<val xsi:type="ArrayOfManagedObjectReference"><ManagedObjectReference type="Datacenter" xsi:type="ManagedObjectReference">datacenter-1</ManagedObjectReference></val><x>1</x>`,
		},
		{
			"texts", `<val i:XMLSchema-instance:type="ArrayOfString"><string>a &lt; b</string><string></string></val>`,
			`<val i:XMLSchema-instance:type="ArrayOfString"><string xsi:type="xsd:string">a &lt; b</string><string xsi:type="xsd:string"></string></val>`,
		},
		{
			"typed, and what is inside", `<val xsi:type="ArrayOfVirtualDevice"><VirtualDevice xsi:type="VirtualDisk"><key>1</key></VirtualDevice></val>`,
			`<val xsi:type="ArrayOfVirtualDevice"><VirtualDevice xsi:type="VirtualDisk"><key>1</key></VirtualDevice></val>`,
		},
		{
			"an array in an element of one", `<val xsi:type="ArrayOfKeyAnyValue"><KeyAnyValue><value xsi:type="ArrayOfInt"><int>1</int></value></KeyAnyValue></val>`,
			`<val xsi:type="ArrayOfKeyAnyValue"><KeyAnyValue xsi:type="KeyAnyValue"><value xsi:type="ArrayOfInt"><int xsi:type="xsd:int">1</int></value></KeyAnyValue></val>`,
		},
		{"cut off", `<val xsi:type="ArrayOfString"><string>a</string><stri`, `<val xsi:type="ArrayOfString"><string xsi:type="xsd:string">a</string><stri`},
	} {
		if got := string(typeElements([]byte(tc.in))); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", tc.name, got, tc.want)
		}
	}
}

// answer is what vcsim writes of a method's result.
func answer(t *testing.T, body any) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(body); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNewer(t *testing.T) {
	ref := types.ManagedObjectReference{Type: "X", Value: "x"}
	content := types.ServiceContent{RootFolder: ref, PropertyCollector: ref, About: types.AboutInfo{Name: "n", PatchLevel: "7"}, TenantManager: &ref}
	config := types.VirtualMachineConfigInfo{Name: "vm", Hardware: types.VirtualHardware{NumCPU: 2}}
	config.NumaInfo = &types.VirtualMachineVirtualNumaInfo{}
	for _, tc := range []struct {
		name       string
		body       any
		gone, kept []string
	}{
		{
			"service content", &methods.RetrieveServiceContentBody{Res: &types.RetrieveServiceContentResponse{Returnval: content}},
			[]string{"tenantManager", "patchLevel"},
			[]string{"rootFolder", "<name>n</name>", "propertyCollector"},
		},
		{"a property's value", &methods.RetrievePropertiesExBody{Res: &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{
			Objects: []types.ObjectContent{{Obj: ref, PropSet: []types.DynamicProperty{{Name: "config", Val: config}}}},
		}}}, []string{"numaInfo"}, []string{"<name>vm</name>", "numCPU", "<name>config</name>"}},
	} {
		doc := answer(t, tc.body)
		got := string(dropNewer(doc))
		for _, word := range tc.gone {
			if !strings.Contains(string(doc), word) || strings.Contains(got, word) {
				t.Errorf("%s: %q: before %t, after %t", tc.name, word, strings.Contains(string(doc), word), strings.Contains(got, word))
			}
		}
		for _, word := range tc.kept {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q is gone:\n%s", tc.name, word, got)
			}
		}
		var into any
		if err := xml.Unmarshal([]byte(got), &into); err != nil && err != io.EOF {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestVersionOfAClient(t *testing.T) {
	for action, want := range map[string]bool{
		"urn:vim25/6.7.1": true, `"urn:vim25/6.0"`: true, "urn:vim25/5.5": true, "urn:vim25/6.7.3": true,
		"urn:vim25/6.8.7": false, "urn:vim25/7.0": false, "urn:vim25/8.0.3.0": false, "urn:vim25/9.1.0.0": false,
		"": false, "urn:vim25": false, "urn:vim25/": false, "urn:vim25/new": false, "urn:pbm/2.0": false,
	} {
		if got := before68(action); got != want {
			t.Errorf("%q: %t", action, got)
		}
	}
}

func TestVersions(t *testing.T) {
	w := httptest.NewRecorder()
	Versions("7.0.3.0")(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sdk/vimServiceVersions.xml", nil))
	got := strings.Join(strings.Fields(w.Body.String()), "")
	if !strings.Contains(got, "<version>7.0.3.0</version><priorVersions><version>7.0.2.0</version>") || !strings.Contains(got, "<version>6.7.1</version>") || strings.Contains(got, "8.0") {
		t.Error(w.Body.String())
	}
}

// FuzzAnswers shows that what is no answer of vcsim's does no harm.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0"?><a xsi:type="ArrayOfString"><b>1</b></a>`))
	f.Add([]byte(`<a></b></c>`))
	f.Add([]byte(`<RetrieveServiceContentResponse><returnval><tenantManager>`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		typeElements(doc)
		dropNewer(doc)
	})
}

// BenchmarkElements measures the answer for the hosts of a cluster: 1,000 references.
func BenchmarkElements(b *testing.B) {
	doc := []byte(`<?xml version="1.0"?><val xsi:type="ArrayOfManagedObjectReference">` +
		strings.Repeat(`<ManagedObjectReference type="VirtualMachine">vm-1000</ManagedObjectReference>`, 1000) + `</val>`)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		typeElements(doc)
	}
}

func TestPolicies(t *testing.T) {
	const answer = `<?xml version="1.0"?><a><name>gold</name><k8sCompliantName>gold</k8sCompliantName><otherK8sCompliantNames>a<b>c</b></otherK8sCompliantNames><z>1</z></a>`
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	for action, want := range map[string]string{
		"urn:pbm/2.0": `<?xml version="1.0"?><a><name>gold</name><z>1</z></a>`, "urn:pbm": answer, "": answer,
		"urn:pbm/": answer, "urn:pbm/9.1.0.0": answer,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pbm/sdk", nil)
		r.Header.Set("SOAPAction", action)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Body.String(); got != want {
			t.Errorf("%q: %s, want %s", action, got, want)
		}
	}
}
