package mask

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

const password = `p4ss/W%rd+"q'<&>\ü ~end`

// A known value is found in any encoding, and its surroundings stay.
func TestKnown(t *testing.T) {
	var m Mask
	m.Add(password)
	quoted, _ := json.Marshal(map[string]string{"x": password})
	twice, _ := json.Marshal(string(quoted))
	b64 := base64.StdEncoding.EncodeToString
	for name, text := range map[string]string{
		"plain":            "login with " + password + " refused",
		"json":             string(quoted),
		"json in json":     string(twice),
		"go":               fmt.Sprintf("%q", password),
		"url":              "https://x/?a=" + url.QueryEscape(password) + "&b=c",
		"url, lower":       "https://x/?a=" + strings.ToLower("%2F") + lowerHex(url.QueryEscape(password)),
		"path":             "https://x/" + url.PathEscape(password),
		"user":             (&url.URL{Scheme: "https", User: url.UserPassword("u", password), Host: "x"}).String(),
		"base64":           "data: " + b64([]byte(password)),
		"base64 of more":   "data: " + b64([]byte("administrator:"+password+"!")),
		"base64 of more 2": "data: " + b64([]byte("administrators:"+password+"!")),
		"base64 of more 3": "data: " + b64([]byte("administrators1:"+password+"!")),
		"base64 for urls":  "data: " + base64.RawURLEncoding.EncodeToString([]byte("x"+password)),
		"base64 in a url":  "?a=" + url.QueryEscape(b64([]byte("xy"+password))) + "&b",
		"base64 of base64": "data: " + b64([]byte("data: "+b64([]byte(password)))),
		"in a path":        "/a/b/c/" + b64([]byte("first line\nthe second has "+password)),
	} {
		got := m.String(text)
		if leaks(got) || !strings.Contains(got, Text) {
			t.Errorf("%s: %s", name, got)
		}
		if strings.HasPrefix(text, "data: ") && got != "data: "+Text {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := m.String(string(quoted)); !json.Valid([]byte(got)) {
		t.Errorf("no JSON any more: %s", got)
	}
	if m.Count() == 0 {
		t.Error("nothing counted")
	}
}

// A password may end in what JSON escapes, and the text is JSON still.
func TestStaysJSON(t *testing.T) {
	for _, p := range []string{`abc"`, `"abc`, `abc\`, `a"b\c"`, "two\nlines", "nul\x00byte", `{"a":1}`} {
		var m Mask
		m.Add(p)
		text, _ := json.Marshal(map[string]string{"x": "is " + p + "!"})
		if got := m.String(string(text)); got != `{"x":"is (masked)!"}` {
			t.Errorf("%q: %s", p, got)
		}
	}
}

// Follow knows what an instance has known, what it comes to know later, and all of it when its directory is gone.
// What is learned after Settle is no longer masked: tests of others write secrets that are words.
func TestSettle(t *testing.T) {
	dir := t.TempDir()
	store, err := secret.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var m Mask
	if err := errors.Join(store.Add("known-before"), m.Follow(dir)); err != nil {
		t.Fatal(err)
	}
	m.Settle()
	if err := store.Add("known-later"); err != nil {
		t.Fatal(err)
	}
	if got, want := m.String("known-before known-later"), "(masked) known-later"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	store, err := secret.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	token := filepath.Join(dir, "nodes", "w1", "pods", "7", "volumes", "token")
	if err := errors.Join(
		store.Add("known-before", "[Global]\npassword = \"in-a-config\"\n"), os.MkdirAll(filepath.Dir(token), 0o700),
		os.WriteFile(token, []byte("opaque-token-of-a-pod"), 0o600), os.WriteFile(filepath.Join(dir, "ccm.key"), []byte("opaque-key"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	var m Mask
	if err := m.Follow(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := m.String("known-before in-a-config opaque-token-of-a-pod opaque-key later"), "(masked) (masked) (masked) (masked) later"; got != want {
		t.Errorf("got %q", got)
	}
	if err := store.Add("known-later"); err != nil {
		t.Fatal(err)
	}
	if got, want := m.String("known-before known-later"), "(masked) (masked)"; got != want {
		t.Errorf("got %q", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := m.String("known-before known-later"), "(masked) (masked)"; got != want {
		t.Errorf("without the directory: %q", got)
	}
	if err := m.Follow(filepath.Join(dir, "none")); err != nil {
		t.Errorf("no directory: %v", err)
	}
}

func leaks(text string) bool {
	for _, form := range append(forms(password), cores(password)...) {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestShapes(t *testing.T) {
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIJ5v0\nAwEHoUQDQgAE\n-----END EC PRIVATE KEY-----\n"
	token := "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"
	for text, want := range map[string]string{
		"a\n" + key + "b":                      "a\n(masked)\nb",
		strings.ReplaceAll(key, "\n", `\n`):    `(masked)\n`,
		"-----BEGIN PRIVATE KEY-----\nMHcCAQE": "(masked)",
		"Authorization: Bearer " + token:       "Authorization: (masked)",
		`h="Bearer abcdefghijkl"`:              `h="Bearer (masked)"`,
		"jwt " + token + " end":                "jwt (masked) end",
		"password: two words # why":            "password: (masked)",
		"  - token: abc":                       "  - token: (masked)",
		"export GOVC_PASSWORD='x y'":           "export GOVC_PASSWORD=(masked)",
		`{"password":"x\"y","user":"u"}`:       `{"password":"(masked)","user":"u"}`,
		`{\"password\":\"xy\",\"user\":\"u\"}`: `{\"password\":\"(masked)\",\"user\":\"u\"}`,
		`level=info token=abc next=1`:          `level=info token=(masked) next=1`,
		"--password hunter2 --user u":          "--password (masked) --user u",
		"--bearer-token=hunter2 -v":            "--bearer-token=(masked) -v",
		"https://u:hunter2@host/sdk":           "https://u:(masked)@host/sdk",
		"<password>hunter2</password>":         "<password>(masked)</password>",
		`<v:password t="s">h</v:password>`:     `<v:password t="s">(masked)</v:password>`,
		`Set-Cookie: vmware_soap_session="1"`:  `Set-Cookie: (masked)`,
		"vmware-api-session-id: 55":            "vmware-api-session-id: (masked)",
		"join --token abcdef.0123456789abcdef": "join --token (masked)",
		"client-key-data: LS0t":                "client-key-data: (masked)",
	} {
		if got := new(Mask).String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What is no secret stays, to the letter.
func TestStays(t *testing.T) {
	var m Mask
	m.Add("abc") // too short to be looked for
	for _, text := range []string{
		"secretName: vsphere-cloud-secret\nsecretNamespace: kube-system\n",
		"automountServiceAccountToken: true\nserviceAccountToken:\n  audience: x\n",
		`{"tokenFile":"/x","password":"","token":null}`,
		"thumbprint: AA:BB:CC:DD:EE", "digest sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
		"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIRAPw0T\n-----END CERTIFICATE-----\n",
		"https://127.0.0.11:8989/sdk", "abc abcdef", "/tmp/some/rather/long/path/to/a/file.log and more of them",
		"signing keys and tokens were made", "password: (masked)\n", "password: ********\n",
	} {
		if got := m.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestLearn(t *testing.T) {
	var m Mask
	m.MaskConfig("csi/attacher.token", []byte("opaque-token-1\n"))
	m.MaskConfig("vsphere.conf", []byte("[Global]\nuser = \"administrator\"\npassword = \"conf word 2\"\n"))
	m.MaskConfig("secret.json", []byte(`{"password": "json-word-3", "name": "worker-1"}`))
	m.MaskConfig("kubeconfig", []byte("users:\n- user:\n    client-key-data: "+base64.StdEncoding.EncodeToString([]byte("-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAvlineof\n-----END RSA PRIVATE KEY-----\n"))))
	m.MaskConfig("env", []byte("GOVC_URL=https://admin:url-word-4@vc/sdk\n"))
	got := m.String("opaque-token-1, conf word 2, json-word-3, MIIEowIBAAKCAQEAvlineof, url-word-4; administrator, worker-1")
	if want := "(masked), (masked), (masked), (masked), (masked); administrator, worker-1"; got != want {
		t.Errorf("got %q", got)
	}
}
