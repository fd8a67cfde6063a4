package migrate

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	csi "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// verify reads the new manifests with their own readers, and compares their meaning with the intended one. Warnings become work
// for the user.
func (c *conversion) verify(files []File) error {
	data, err := c.dataOf(files, "configmap.yaml", "data")
	if err == nil {
		err = c.verifyCloud(data["vsphere.conf"])
	}
	if err != nil {
		return err
	}
	for _, p := range c.plans {
		if p.secret == nil {
			continue
		}
		data, err := c.dataOf(files, "secret-"+p.secret.Name+".yaml", "stringData")
		if err != nil {
			return err
		}
		if got, err := config.ParseSecret(p.secret.Name, data).For(p.was.SecretKeys()...); err != nil || got != p.csi {
			return c.inexpressible("the credentials of vCenter "+p.was.Tenant, "a Secret cannot hold them as they are: do they end in a newline?")
		}
	}
	if err := c.verifyNSX(files); err != nil {
		return err
	}
	return c.verifyCSI(files)
}

// dataOf returns the values of a new ConfigMap or Secret.
func (c *conversion) dataOf(files []File, name, key string) (map[string][]byte, error) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	var m map[string]any
	if err := yaml.Unmarshal(files[i].Data, &m); err != nil { // it may quote what it cannot read
		return nil, c.inexpressible("a value", name+" cannot hold it: has it characters that cannot be written?")
	}
	data := map[string][]byte{}
	values, _ := m[key].(map[string]any)
	for k, v := range values {
		text, _ := v.(string)
		data[k] = []byte(text)
	}
	return data, nil
}

func (c *conversion) verifyCloud(text []byte) error {
	got, problems := config.Check("the new vsphere.conf", text)
	if got == nil {
		return &config.Error{Problems: errorsOf(problems)}
	}
	got.Warnings = nil
	if !reflect.DeepEqual(got, c.cfg) {
		return c.inexpressible("a value", "vsphere.conf would mean something else")
	}
	return nil
}

func (c *conversion) verifyCSI(files []File) error {
	data, err := c.dataOf(files, "secret-"+csiSecret+".yaml", "stringData")
	if err != nil {
		return err
	}
	// Placeholders stand for missing credentials, so that the rest can be read.
	whole := c.csiConfig(func(p *plan) (string, string) {
		if p.csi.User == "" {
			return "user@domain", Withheld
		}
		return given(p)
	})
	if string(data["csi-vsphere.conf"]) != c.csiConfig(given) {
		return c.inexpressible("a value", "csi-vsphere.conf cannot be in a Secret as it is")
	}
	reading := csi.ReadOptions{Format: csi.CSI, BeyondUpstream: true}
	if c.clusterID() == "" {
		reading.ClusterID = "any"
		c.attend("give the CSI driver a cluster-id, if several clusters share a vCenter: this file has none")
	}
	got, problems := csi.Check("the new csi-vsphere.conf", []byte(whole), reading)
	if got == nil {
		return &config.Error{Problems: errorsOf(problems)}
	}
	for _, p := range problems {
		where := ""
		if p.Path != "" {
			where = p.Path + ": "
		}
		c.attend("csi-vsphere.conf: " + where + p.Message)
	}
	if len(c.plans) > 1 && c.dialect != OutOfTree {
		c.attend("volumes that the in-tree provider made: upstream's CSI driver takes them over where its file names one vCenter, and not where it names several")
	}
	for _, p := range c.plans {
		if p.first != nil {
			c.attend(fmt.Sprintf("csi-vsphere.conf has one account for a host, that of vCenter %s: give it the rights on the datacenters of vCenter %s too, and name them there",
				p.first.was.Tenant, p.was.Tenant))
			continue
		}
		if p.csi.User == "" {
			instead := ""
			if p.was.SecretsDirectory == "" {
				instead = ", whose manifest can be given too: --manifests FILE"
			}
			c.attend(fmt.Sprintf("write the credentials of vCenter %s into csi-vsphere.conf: they are in %s%s", p.was.Tenant, credentialsIn(p.was), instead))
		}
		if len(p.was.Datacenters) == 0 {
			c.attend(fmt.Sprintf("name the datacenters of vCenter %s in csi-vsphere.conf for upstream's driver: this file names none, which is all of them", p.was.Tenant))
		}
		if !slices.ContainsFunc(got.VCenters, func(vc csi.VCenter) bool { return sameForDriver(vc, p) }) {
			return c.inexpressible("vCenter "+p.was.Tenant, "csi-vsphere.conf would mean something else")
		}
	}
	return nil
}

// sameForDriver compares what csi-vsphere.conf can express of a vCenter.
func sameForDriver(vc csi.VCenter, p *plan) bool {
	w := p.was
	return vc.Server == w.Server && vc.Port == w.Port && vc.InsecureFlag == w.InsecureFlag && vc.CAFile == w.CAFile &&
		strings.EqualFold(vc.Thumbprint, w.Thumbprint) && slices.Equal(vc.Datacenters, w.Datacenters) &&
		(p.csi.User == "" || vc.User == p.csi.User && vc.Password == p.csi.Password)
}

// inexpressible returns the error for what a new file cannot hold. It quotes no value.
func (c *conversion) inexpressible(what, why string) error {
	return problem(c.name, what+" cannot be carried over: "+why, "")
}

// Source is a text with its name for reports and errors.
type Source struct {
	Name string
	Data []byte
}

// Options add what an old file does not have. The zero value adds nothing.
type Options struct {
	// Manifests are YAML documents of the cluster: StorageClasses, which are converted, and the Secrets that the file
	// names, whose credentials csi-vsphere.conf needs.
	Manifests []Source
	// ClusterID is the CSI driver's name for the cluster, if the file has none.
	ClusterID string
	// DatastoreURLs are the URLs of datastores, by their names in the file and in StorageClasses.
	DatastoreURLs map[string]string
	// Force drops what is unknown or cannot be carried over; without it, Convert refuses the file.
	Force bool
}

// Migration is the result of a conversion.
type Migration struct {
	// Old is the meaning of the old file, with its credentials.
	Old *config.Config
	// Config is the meaning of vsphere.conf. It has no credentials but a token of VMware Cloud, which can be nowhere else.
	Config *config.Config
	// Files are in the order of their use, the report last. Their names are distinct.
	Files  []File
	Report Report
}

// Convert converts an old file. The error is a [*Refusal] if the file has another format, and otherwise a [*config.Error] with
// all problems.
func Convert(old Source, o Options) (*Migration, error) {
	text, err := open(old)
	if err != nil {
		return nil, err
	}
	c := &conversion{name: old.Name, text: text, opts: o, known: sections(), credentials: map[string]config.Credentials{}}
	if err := c.read(); err != nil {
		return nil, err
	}
	if err := c.readManifests(); err != nil {
		return nil, err
	}
	c.plan()
	if err := c.planClasses(); err != nil {
		return nil, err
	}
	m := &Migration{Old: c.old, Config: c.cfg}
	if m.Files, err = c.files(); err != nil {
		return nil, err
	}
	if err := c.verify(m.Files); err != nil {
		return nil, err
	}
	if m.Report, err = c.report(); err != nil {
		return nil, err
	}
	m.Files = append(m.Files, File{Name: "report.txt", Data: []byte(m.Report.Text())})
	return m, nil
}

// Read returns the meaning of an old file, with its credentials, without converting it: it accepts sections that Convert cannot
// carry over. force ignores unknown lines. The error is as that of [Convert].
func Read(old Source, force bool) (*config.Config, error) {
	text, err := open(old)
	if err != nil {
		return nil, err
	}
	c := &conversion{name: old.Name, text: text, opts: Options{Force: force}, known: sections()}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.old, nil
}

// conversion is the state of Convert.
type conversion struct {
	name string
	text []byte
	opts Options

	known    known
	sections []config.INISection
	starts   map[int]bool   // lines in which something of the sections begins
	physical [][]byte       // the text by lines
	unknown  map[int]string // by line, why force drops it
	idle     map[int]string // by line, why the in-tree provider went past it
	listed   map[int]bool   // the lines of a datacenter that is a list of them
	dialect  Dialect
	old, cfg *config.Config // the meaning of the file, and that of vsphere.conf
	plans    []*plan        // in the order of the vCenters

	nsxSecret *config.SecretRef // the new Secret for the account at the NSX Manager; nil if the file has none

	objects     []object
	credentials map[string]config.Credentials // of Secrets among the manifests, by server
	classes     []class
	lines       []Line // of the manifests
	todo        []string
	suspects    []config.Problem // values that may not be what was meant
}

// attend notes work for the user, once.
func (c *conversion) attend(what string) {
	if slices.Contains(c.todo, what) {
		return
	}
	c.todo = append(c.todo, what)
}

// Names of what the new files make in a cluster: upstream's.
const (
	cloudNamespace = "kube-system"
	cloudConfigMap = "vsphere-cloud-config"
	cloudSecret    = "vsphere-cloud-secret"
	csiNamespace   = "vmware-system-csi"
	csiSecret      = "vsphere-config-secret"
)

// plan is one vCenter during the conversion.
type plan struct {
	was config.VCenter
	// own are the keys that the vCenter's own section sets.
	own map[string]bool
	// secret is the new Secret for credentials in the old file; nil if the file has none.
	secret *config.SecretRef
	// csi are the credentials for csi-vsphere.conf; zero if unknown.
	csi config.Credentials
	// first is the connection to the same host whose account csi-vsphere.conf has instead; nil for none.
	first *plan
}

// plan decides the contents of vsphere.conf: the meaning of the old file, with Secrets in place of passwords.
func (c *conversion) plan() {
	cfg := *c.old
	cfg.Format, cfg.Warnings = config.YAML, nil
	cfg.VCenters = slices.Clone(c.old.VCenters)
	taken := map[config.SecretRef]bool{}
	for _, vc := range c.old.VCenters {
		taken[vc.Secret] = true
	}
	if cfg.NSX != nil {
		taken[cfg.NSX.Secret] = true
	}
	for i := range cfg.VCenters {
		vc := &cfg.VCenters[i]
		p := &plan{was: c.old.VCenters[i], own: c.own(vc.Tenant)}
		switch {
		case vc.User != "":
			p.csi = config.Credentials{User: vc.User, Password: vc.Password}
			ref := newSecret(cloudSecret, vc.Tenant, len(cfg.VCenters), taken)
			p.secret, vc.Secret, vc.User, vc.Password = &ref, ref, "", ""
		default:
			p.csi = c.credentials[credentialKey(*vc)]
		}
		for _, other := range c.plans {
			if other.first == nil && config.SameHost(other.was.Server, vc.Server) {
				p.first = other
			}
		}
		c.plans = append(c.plans, p)
	}
	c.planNSX(&cfg, taken)
	c.planNetwork(&cfg)
	c.cfg = &cfg
}

// own returns the keys that have a value in the section of a vCenter.
func (c *conversion) own(tenant string) map[string]bool {
	keys := map[string]bool{}
	for _, s := range c.sections {
		if !strings.EqualFold(s.Name, "VirtualCenter") || s.Sub != tenant {
			continue
		}
		for _, e := range s.Entries {
			if _, idle := c.idle[e.Line]; says(e) && !idle {
				keys[strings.ToLower(e.Key)] = true
			}
		}
	}
	return keys
}

var unnamable = regexp.MustCompile(`[^a-z0-9]+`)

// newSecret chooses a free name for a Secret, that of a vCenter with its name if there are several, and adds it to taken.
func newSecret(name, tenant string, of int, taken map[config.SecretRef]bool) config.SecretRef {
	const longest = 200
	if slug := strings.Trim(unnamable.ReplaceAllString(strings.ToLower(tenant), "-"), "-"); of > 1 && slug != "" {
		name += "-" + slug[:min(len(slug), longest)]
	}
	ref := config.SecretRef{Namespace: cloudNamespace, Name: name}
	for n := 2; taken[ref]; n++ {
		ref.Name = fmt.Sprintf("%s-%d", name, n)
	}
	taken[ref] = true
	return ref
}

// credentialKey returns the key of conversion.credentials for a vCenter.
func credentialKey(vc config.VCenter) string {
	return strings.Join([]string{vc.Secret.Namespace, vc.Secret.Name, vc.Tenant}, "/")
}

// planNetwork chooses node addresses as the in-tree provider did, from its one network. cloud-provider-vsphere ignores the
// section.
func (c *conversion) planNetwork(cfg *config.Config) {
	if name := c.publicNetwork(); name != "" && c.dialect != OutOfTree {
		cfg.Nodes.InternalVMNetwork, cfg.Nodes.ExternalVMNetwork = name, name
	}
}

func (c *conversion) publicNetwork() string {
	return strings.TrimSpace(c.value("Network", "public-network"))
}

// value returns the value of a key in a section without a second name, or "".
func (c *conversion) value(section, key string) string {
	for _, s := range c.sections {
		if !strings.EqualFold(s.Name, section) || s.HasSub {
			continue
		}
		for _, e := range s.Entries {
			if strings.EqualFold(e.Key, key) {
				return e.Value
			}
		}
	}
	return ""
}
