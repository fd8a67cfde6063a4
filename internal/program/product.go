package program

import (
	"errors"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// Product is what a program is. The zero value is no product: its only source is the built-in program.
type Product string

// The products. Their text names them in messages.
const (
	CCM       Product = "CCM"
	CSIDriver Product = "CSI driver"
	CSISyncer Product = "CSI syncer"
	// CSISanity is the sanity suite of CSI, by Kubernetes' storage group.
	CSISanity Product = "CSI sanity suite"
)

// SanityVersion is the release of [CSISanity] that drivers are judged by: that of go.mod, which the tests of this project run.
const SanityVersion = "v5.4.0"

// facts are where upstream has a product.
type facts struct {
	// code begins the codes of errors, and is the folder in the cache with the programs of images.
	code string
	// long is what messages call the program of an image.
	long string
	// file is the name of the program, in upstream's images too.
	file string
	// module and command are the Go module and the package in it; env is set when it is built.
	module, command string
	env             []string
	// folder is the folder of releases in the cache, below "upstream".
	folder string
	// releases are versions that this program was tried with, the newest one last; sums are the checksums of some, as go.sum has them.
	// Others are left to Go's checksum database.
	releases []string
	sums     map[string]string
}

func (p Product) facts() facts {
	csi := facts{
		code: "csi", module: "sigs.k8s.io/vsphere-csi-driver/v3", folder: "csi", releases: []string{"v3.7.0"},
		sums: map[string]string{"v3.7.0": "h1:qLKC7gXRS8fhX6CMzif1VsE4/nSePGKO71k9R9UXJJ8="},
		// The syncer imports crypto/tls/fipsonly, which there is with this experiment alone.
		env: []string{"GOEXPERIMENT=boringcrypto"},
	}
	switch p {
	case CSIDriver:
		csi.long, csi.file, csi.command = "CSI driver", "vsphere-csi", "./cmd/vsphere-csi"
		return csi
	case CSISyncer:
		csi.long, csi.file, csi.command = "syncer", "vsphere-syncer", "./cmd/syncer"
		return csi
	case CSISanity:
		return facts{
			code: "sanity", long: "sanity suite", file: "csi-sanity", module: "github.com/kubernetes-csi/csi-test/v5", command: "./cmd/csi-sanity",
			folder: "csi-test", env: []string{"GOFLAGS=-mod=mod"}, // the proxy leaves out parts of its vendor folder
			releases: []string{SanityVersion},
			sums:     map[string]string{SanityVersion: "h1:u5DgYNIreSNO2+u4Nq2Wpl+bbakRSjNyxZHmDTAqnYA="},
		}
	case CCM:
	}
	const name = "vsphere-cloud-controller-manager"
	return facts{
		code: "ccm", long: "cloud controller manager", file: name, module: "k8s.io/cloud-provider-vsphere", command: "./cmd/" + name,
		releases: []string{"v1.34.0", "v1.35.1", "v1.36.0"},
		sums: map[string]string{
			"v1.34.0": "h1:XVn67iOmwld6pQI6DGCxwiA515VsHofIOUIwaVN8VLo=",
			"v1.35.1": "h1:lg+h3ipqGETLb83/brc58efmLkcgW+HWgKIa/DgYF7o=",
			"v1.36.0": "h1:BzLS2rZW8qh/Yabh9SvWwGpyUiiyraYjrDSHO76sDfY=",
		},
	}
}

// File returns the name of the program, as upstream's images have it below /bin.
func (p Product) File() string { return p.facts().file }

// Release returns a release of upstream's module.
func (p Product) Release(version string) upstream.Module {
	f := p.facts()
	return upstream.Module{Path: f.module, Version: version, Sum: f.sums[version]}
}

// Example returns a source of the product for messages: "module:v1.36.0".
func (p Product) Example() string {
	all := p.facts().releases
	return "module:" + all[len(all)-1]
}

// CheckVersion refuses what is no version of a module: it becomes a part of paths.
func (p Product) CheckVersion(version string) error { return p.named(p.checkVersion(version)) }

func (p Product) checkVersion(version string) error {
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		_, example, _ := strings.Cut(p.Example(), ":")
		return coded.New(Usage, p.Example(), nil, "module:%s: is no version; want one of the form %s", version, example)
	}
	return nil
}

// named adds the product to the message of an error of this package, and to its code unless the code is the same for all products.
func (p Product) named(err error) error {
	e, ok := errors.AsType[*coded.Error](err)
	if !ok {
		return err
	}
	e.Message = string(p) + " " + e.Message
	if e.Code != Usage && e.Code != GoMissing {
		e.Code = p.facts().code + "-" + e.Code
	}
	return err
}

// Codes of a [coded.Error] that are the same for all products. The others begin with "ccm-" or "csi-": the constants below follow.
const (
	Usage     = "usage"
	GoMissing = "go-missing" // there is no Go toolchain
)

// The ends of codes that commands tell apart.
const (
	BuildFailed    = "build-failed"
	ImageRefused   = "image-refused"
	VersionUnknown = "version-unknown"
)
