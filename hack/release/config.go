package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"
)

// config is .goreleaser.yaml, as far as it is used: the names are GoReleaser's. Parts that only matter when a release is
// published are read over.
type config struct {
	Version     int      `yaml:"version"`
	ProjectName string   `yaml:"project_name"`
	Dist        string   `yaml:"dist"`
	Env         []string `yaml:"env"`
	Before      struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds   []build   `yaml:"builds"`
	Archives []archive `yaml:"archives"`
	SBOMs    []bill    `yaml:"sboms"`
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		ExtraFiles   []struct {
			Glob string `yaml:"glob"`
		} `yaml:"extra_files"`
	} `yaml:"checksum"`
	Snapshot struct {
		VersionTemplate string `yaml:"version_template"`
	} `yaml:"snapshot"`

	// Of publishing.
	Changelog   yaml.Node `yaml:"changelog"`
	Release     yaml.Node `yaml:"release"`
	ReportSizes bool      `yaml:"report_sizes"`
}

type build struct {
	ID           string   `yaml:"id"`
	Main         string   `yaml:"main"`
	Binary       string   `yaml:"binary"`
	Goos         []string `yaml:"goos"`
	Goarch       []string `yaml:"goarch"`
	Env          []string `yaml:"env"`
	Tags         []string `yaml:"tags"`
	Ldflags      []string `yaml:"ldflags"`
	ModTimestamp string   `yaml:"mod_timestamp"`
	Hooks        struct {
		Pre []string `yaml:"pre"`
	} `yaml:"hooks"`
}

type archive struct {
	ID              string   `yaml:"id"`
	Formats         []string `yaml:"formats"`
	NameTemplate    string   `yaml:"name_template"`
	WrapInDirectory string   `yaml:"wrap_in_directory"`
	BuildsInfo      info     `yaml:"builds_info"`
	Files           []source `yaml:"files"`
}

type source struct {
	Src  string `yaml:"src"`
	Dst  string `yaml:"dst"`
	Info info   `yaml:"info"`
}

// info is what an archive says of a file in place of what the disk says.
type info struct {
	Owner string      `yaml:"owner"`
	Group string      `yaml:"group"`
	Mode  fs.FileMode `yaml:"mode"`
	MTime string      `yaml:"mtime"`
}

type bill struct {
	ID        string   `yaml:"id"`
	Artifacts string   `yaml:"artifacts"`
	Documents []string `yaml:"documents"`
	Cmd       string   `yaml:"cmd"`
	Args      []string `yaml:"args"`
	Env       []string `yaml:"env"`
}

// readConfig reads the file. A key that is not known here is an error with its line: it would be left out otherwise.
func readConfig(file string) (*config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &config{}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case c.Version != 2:
		err = fmt.Errorf("version %d, not 2", c.Version)
	case len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.SBOMs) != 1:
		err = fmt.Errorf("%d builds, %d archives, %d sboms: one each is understood", len(c.Builds), len(c.Archives), len(c.SBOMs))
	case len(c.Archives[0].Formats) != 1 || c.Archives[0].Formats[0] != "tar.gz":
		err = fmt.Errorf("archives in %v: tar.gz alone is understood", c.Archives[0].Formats)
	case c.Archives[0].WrapInDirectory != "true":
		err = fmt.Errorf("archives without a folder of their own are not understood")
	case c.SBOMs[0].Artifacts != "binary" || len(c.SBOMs[0].Documents) != 1:
		err = fmt.Errorf("sboms of %s: one document of each binary is understood", c.SBOMs[0].Artifacts)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}
