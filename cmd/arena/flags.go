package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/agora-arena/arena/server"
)

// flagName returns the name of the flag of a setting, "" when it has none.
func flagName(s server.Setting) string {
	if s.Secret {
		return ""
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.Key, "ARENA_")), "_", "-")
}

// flagHelp returns the help text of the flag of a setting.
func flagHelp(s server.Setting) string {
	text := strings.TrimSuffix(s.Doc, ".")
	if s.Default != "" {
		text += "; default " + s.Default
	}
	return text + " (" + s.Key + ")"
}

// FileFlag is the --config flag of every command that reads the settings.
type FileFlag struct {
	File string `name:"config" placeholder:"FILE" help:"Settings file with lines KEY=VALUE, read before the environment (ARENA_CONFIG)."`
}

// Load returns the settings from file and environment.
func (f FileFlag) Load(app *App) (server.Config, error) {
	return server.Load(server.Sources{Environ: app.Environ, File: f.File})
}

// ConfigFlags is embedded by the commands that take every setting as a flag.
// Their Settings must be filled with settingFlags before kong reads them.
type ConfigFlags struct {
	FileFlag
	Settings kong.Plugins `embed:""`
}

// Load returns the settings from file, environment and flags.
func (f ConfigFlags) Load(app *App) (server.Config, error) {
	flags := map[string]string{}
	for _, plugin := range f.Settings {
		v := reflect.ValueOf(plugin).Elem()
		for i := range v.NumField() {
			if value := v.Field(i); !value.IsNil() {
				flags[v.Type().Field(i).Name] = value.Elem().String()
			}
		}
	}
	return server.Load(server.Sources{Environ: app.Environ, File: f.File, Flags: flags})
}

// settingFlags makes the flags from the table: a pointer to a struct with one
// *string field per setting, named like its key and tagged for kong. Nil
// after parsing means that the flag was not given.
func settingFlags() kong.Plugins {
	var fields []reflect.StructField
	for _, s := range server.Settings() {
		if flagName(s) == "" {
			continue
		}
		tag := fmt.Sprintf("name:%q placeholder:%q help:%q", flagName(s), "VALUE", flagHelp(s))
		fields = append(fields, reflect.StructField{
			Name: s.Key, Type: reflect.TypeFor[*string](), Tag: reflect.StructTag(tag),
		})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// writeMarkdown writes the table of docs/configuration.md.
func writeMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| setting | default | what it does |\n|---|---|---|\n")
	for _, s := range server.Settings() {
		def, doc := "", s.Doc
		if s.Default != "" {
			def = "`" + s.Default + "`"
		}
		if s.Secret {
			doc += " Secret."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Key, def, strings.ReplaceAll(doc, "|", `\|`))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
