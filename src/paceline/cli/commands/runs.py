import typer

app = typer.Typer(help="Stored runs.")


@app.command("list")
def list_() -> int:
    return 0
