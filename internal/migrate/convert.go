package migrate

import (
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Source is a text with the name that it goes by in reports and errors.
type Source struct {
	Name string
	Data []byte
}

// Options add to an old file what it does not say. The zero value adds nothing.
type Options struct {
	// Manifests are YAML documents of the cluster: StorageClasses, which are converted, and the Secrets that the file
	// names, whose credentials csi-vsphere.conf needs.
	Manifests []Source
	// ClusterID is the CSI driver's name for the cluster, where the file has none.
	ClusterID string
	// DatastoreURLs are the URLs of datastores by what they are called in the file and in StorageClasses.
	DatastoreURLs map[string]string
	// Force drops what is not known, and what cannot be carried over, in place of refusing it.
	Force bool
}

// Migration is what came of a file.
type Migration struct {
	// Old is what the old file meant, with the credentials that are in it.
	Old *config.Config
	// Config is what vsphere.conf means. It has no credentials.
	Config *config.Config
	// Files are in the order in which they are of use, the report last. Their names are distinct.
	Files  []File
	Report Report
}

// Convert converts an old file. The error is a [*Refusal] when the file is not one to convert, and a [*config.Error] with
// everything that is wrong with it otherwise.
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

// Read returns what an old file means, with the credentials that are in it, and converts nothing: a section that cannot be
// carried over is none of its problems. force goes past what is not known. The error is as that of [Convert].
func Read(old Source, force bool) (*config.Config, error) {
	text, err := open(old)
	if err != nil {
		return nil, err
	}
	c := &conversion{name: old.Name, text: text, opts: Options{Force: force}, known: sections(), onlyRead: true}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.old, nil
}

// conversion is a file on its way.
type conversion struct {
	name string
	text []byte
	opts Options

	onlyRead bool // nothing is to be carried over
	known    known
	sections []config.INISection
	starts   map[int]bool   // lines in which something of the sections begins
	physical [][]byte       // the text by lines
	unknown  map[int]string // by line, why force drops it
	idle     map[int]string // by line, why the in-tree provider went past it
	listed   map[int]bool   // the lines of a datacenter that is a list of them
	dialect  Dialect
	old, cfg *config.Config // what the file means, and what vsphere.conf is to mean
	plans    []*plan        // in the order of the vCenters

	objects     []object
	credentials map[string]config.Credentials // of Secrets among the manifests, by server
	classes     []class
	lines       []Line // of the manifests
	todo        []string
}

// attend notes something that is left to be done, once.
func (c *conversion) attend(what string) {
	if slices.Contains(c.todo, what) {
		return
	}
	c.todo = append(c.todo, what)
}
