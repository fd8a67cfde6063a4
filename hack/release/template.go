package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// values are what templates of the configuration may name: GoReleaser's words for them. One that is not here is an error.
type values map[string]any

// newValues are those of a snapshot of the repository in a folder, for a platform.
func newValues(ctx context.Context, c *config, root, goos, goarch string) (values, error) {
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	seconds, err := git(ctx, root, "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	stamp, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	environment := map[string]string{}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		environment[name] = value
	}
	v := values{
		"ProjectName": c.ProjectName, "Os": goos, "Arch": goarch, "IsSnapshot": true, "Env": environment,
		"Commit": commit, "CommitDate": time.Unix(stamp, 0).UTC().Format(time.RFC3339), "CommitTimestamp": seconds,
	}
	for _, e := range c.Env {
		e, err := v.apply(e)
		if err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(e, "=")
		environment[name] = value
	}
	version, err := v.apply(c.Snapshot.VersionTemplate)
	v["Version"] = version
	return v, err
}

func (v values) apply(text string) (string, error) {
	t, err := template.New("").Option("missingkey=error").
		Funcs(template.FuncMap{"trimprefix": strings.TrimPrefix}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]any(v)); err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	return b.String(), nil
}

func (v values) all(texts []string) ([]string, error) {
	out := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = v.apply(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// environ is the environment of what is run.
func (v values) environ() []string {
	var list []string
	for name, value := range v["Env"].(map[string]string) {
		list = append(list, name+"="+value)
	}
	return list
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
