package migrate

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// inTreeVCenter is what the in-tree provider knew of a vCenter.
type inTreeVCenter struct {
	User, Password, Secret string
	Port                   string
	Datacenters            []string
	Insecure               bool
	CAFile, Thumbprint     string
	Roundtrips             int
}

// inTreeValues are the values of a file as gcfg read them: by section, second name and key; what is empty is as what is not
// there.
func inTreeValues(data []byte) (get func(section, sub, key string) string, vcenters []string) {
	all := map[string]string{}
	sections, _ := config.ReadINI("f", bytes.TrimPrefix(data, []byte("\uFEFF")))
	for _, s := range sections {
		name := strings.ToLower(s.Name)
		if name == "virtualcenter" {
			vcenters = append(vcenters, s.Sub)
		}
		for _, e := range s.Entries {
			if e.Value == "" && e.Bare {
				e.Value = "true"
			}
			all[name+"/"+s.Sub+"/"+strings.ToLower(e.Key)] = e.Value
		}
	}
	return func(section, sub, key string) string { return all[section+"/"+sub+"/"+key] }, vcenters
}

// inTreeMeaning is what the in-tree provider made of a file: buildVSphereFromConfig and populateVsphereInstanceMap in
// legacy-cloud-providers/vsphere/vsphere.go, and discoverNodes in nodemanager.go, which took the datacenters apart. It is
// written from those alone, and asks nothing of the code that it judges.
func inTreeMeaning(data []byte) (map[string]inTreeVCenter, error) {
	get, servers := inTreeValues(data)
	global := func(key string) string { return get("global", "", key) }
	or := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	number := func(text string) int {
		n, _ := strconv.ParseInt(text, 0, 32)
		return int(n)
	}
	secret := ""
	if global("secret-name") != "" && global("secret-namespace") != "" {
		secret = global("secret-namespace") + "/" + global("secret-name")
	}
	roundtrips := number(global("soap-roundtrip-count"))
	if roundtrips == 0 {
		roundtrips = 3
	}
	insecure := map[string]bool{"true": true, "yes": true, "on": true, "1": true}[strings.ToLower(global("insecure-flag"))]
	of := func(user, password, port, datacenters, thumbprint string, count int) (inTreeVCenter, error) {
		vc := inTreeVCenter{
			User: user, Password: password, Port: or(port, "443"), Insecure: insecure, CAFile: global("ca-file"), Thumbprint: thumbprint, Roundtrips: count,
		}
		for dc := range strings.SplitSeq(datacenters, ",") {
			if dc = strings.TrimSpace(dc); dc != "" {
				vc.Datacenters = append(vc.Datacenters, dc)
			}
		}
		switch {
		case secret != "":
			vc.User, vc.Password, vc.Secret = "", "", secret
		case user == "" || password == "":
			return vc, errors.New("no login")
		}
		return vc, nil
	}
	all := map[string]inTreeVCenter{}
	if len(servers) == 0 {
		if global("working-dir") == "" || global("server") == "" || global("datacenter") == "" {
			return nil, errors.New("the old form lacks something")
		}
		vc, err := of(global("user"), global("password"), global("port"), global("datacenter"), global("thumbprint"), roundtrips)
		all[global("server")] = vc
		return all, err
	}
	for _, key := range []string{"server", "folder", "datacenter"} {
		if get("workspace", "", key) == "" {
			return nil, errors.New("the workspace lacks something")
		}
	}
	for _, server := range servers {
		own := func(key string) string { return get("virtualcenter", server, key) }
		count := number(own("soap-roundtrip-count"))
		if count == 0 {
			count = roundtrips
		}
		vc, err := of(or(own("user"), global("user")), or(own("password"), global("password")), or(own("port"), global("port")),
			or(own("datacenters"), or(global("datacenters"), global("datacenter"))), own("thumbprint"), count)
		if err != nil {
			return nil, err
		}
		all[server] = vc
	}
	return all, nil
}

// A file of the in-tree provider means after its conversion what it meant to that provider.
func TestInTreeMeaning(t *testing.T) {
	judged := 0
	corpus(t, func(t *testing.T, _ string, data []byte, m *Migration) {
		want, err := inTreeMeaning(data)
		if err != nil || m.Report.Dialect != InTree {
			return // it was none that the in-tree provider ran with
		}
		judged++
		now, err := config.Load("new", m.Files[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		secrets, got := secretsIn(t, m.Files), map[string]inTreeVCenter{}
		for _, vc := range now.VCenters {
			is := inTreeVCenter{
				Port: strconv.Itoa(vc.Port), Datacenters: vc.Datacenters, Insecure: vc.InsecureFlag,
				CAFile: vc.CAFile, Thumbprint: vc.Thumbprint, Roundtrips: vc.SOAPRoundtripCount,
			}
			if s, made := secrets[vc.Secret]; made {
				c, err := config.ParseSecret("secret", s).For(vc.Server)
				if err != nil {
					t.Fatal(err)
				}
				is.User, is.Password = c.User, c.Password
			} else {
				is.Secret = vc.Secret.Namespace + "/" + vc.Secret.Name
			}
			got[vc.Server] = is
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-in-tree +now):\n%s", d)
		}
	})
	if judged < 20 {
		t.Errorf("only %d files were judged", judged)
	}
}
