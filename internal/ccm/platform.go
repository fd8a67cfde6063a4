package ccm

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// inspect refuses what this machine cannot run; name is what the file is called in words. It reports whether the file is a
// script, whose interpreter is not looked for.
func (o Options) inspect(path, name string) (script bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, coded.New("ccm-missing", "", err, "CCM %s", name)
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return false, coded.New("ccm-not-executable", "", nil, "CCM %s: is no program: it is empty, or nearly so", name)
	}
	if bytes.HasPrefix(head, []byte("#!")) {
		return true, nil
	}
	platforms, err := platformsOf(f, head)
	if err != nil {
		return false, coded.New("ccm-not-executable", "", err, "CCM %s: is no program: damaged, or cut short", name)
	}
	want := o.OS + "/" + o.Arch
	if slices.Contains(platforms, want) {
		return false, nil
	}
	if len(platforms) == 0 {
		return false, coded.New("ccm-not-executable", "", nil, "CCM %s: is no program: neither ELF nor Mach-O nor a script", name)
	}
	return false, coded.New("ccm-wrong-platform", "", nil, "CCM %s: is for %s; this machine is %s", name, strings.Join(platforms, " and "), want)
}

// platformsOf returns what a program is for as Go writes it, nothing when it is no program.
func platformsOf(f *os.File, head []byte) ([]string, error) {
	magic := binary.BigEndian.Uint32(head)
	switch {
	case string(head) == elf.ELFMAG:
		e, err := elf.NewFile(f)
		if err != nil {
			return nil, err
		}
		return []string{elfOS(e) + "/" + elfArch(e)}, nil
	case magic == macho.MagicFat:
		fat, err := macho.NewFatFile(f)
		if err != nil {
			return nil, err
		}
		var all []string
		for _, a := range fat.Arches {
			all = append(all, "darwin/"+machoArch(a.Cpu))
		}
		return all, nil
	case magic == macho.Magic64, magic == macho.Magic32, binary.LittleEndian.Uint32(head) == macho.Magic64, binary.LittleEndian.Uint32(head) == macho.Magic32:
		m, err := macho.NewFile(f)
		if err != nil {
			return nil, err
		}
		return []string{"darwin/" + machoArch(m.Cpu)}, nil
	case string(head[:2]) == "MZ":
		p, err := pe.NewFile(f)
		if err != nil {
			return nil, err
		}
		arch := map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_I386: "386"}[p.Machine]
		return []string{"windows/" + arch}, nil
	}
	return nil, nil
}

// elfOS takes what says nothing for Linux: its own programs mostly do not.
func elfOS(f *elf.File) string {
	switch f.OSABI {
	case elf.ELFOSABI_FREEBSD:
		return "freebsd"
	case elf.ELFOSABI_NETBSD:
		return "netbsd"
	case elf.ELFOSABI_OPENBSD:
		return "openbsd"
	case elf.ELFOSABI_SOLARIS:
		return "solaris"
	default:
		return "linux"
	}
}

func elfArch(f *elf.File) string {
	little := f.Data == elf.ELFDATA2LSB
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_386:
		return "386"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_PPC64:
		if little {
			return "ppc64le"
		}
		return "ppc64"
	case elf.EM_S390:
		return "s390x"
	case elf.EM_RISCV:
		return "riscv64"
	default:
		return strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_"))
	}
}

func machoArch(c macho.Cpu) string {
	switch c {
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm64:
		return "arm64"
	default:
		return strings.ToLower(strings.TrimPrefix(c.String(), "Cpu"))
	}
}
